"""Helpers for commands that act on one instance: names, completion, actions and errors."""

from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from virtshape.cli.command import switch
from virtshape.cli.connection import Session, Target, complete_vm, complete_vmi, run_session
from virtshape.cli.errors import ArgumentError, CommandError, suggest
from virtshape.cli.vm import print_scheduled

if TYPE_CHECKING:
    from virtshape.api.kubevirt.virtualmachine import VirtualMachine
    from virtshape.api.status import StatusError

KINDS: Final = {
    **dict.fromkeys(("vm", "vms", "virtualmachine", "virtualmachines"), "vm"),
    **dict.fromkeys(("vmi", "vmis", "virtualmachineinstance", "virtualmachineinstances"), "vmi"),
}
"""The accepted spellings of the kinds."""


def complete_kind(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete the kind."""
    return [CompletionItem(word) for word in ("vm", "vmi") if word.startswith(incomplete)]


def complete_guest(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete [USER@]TYPE/NAME."""
    user, at, path = incomplete.rpartition("@")
    kind, slash, name = path.partition("/")
    if not slash:
        return [CompletionItem(f"{user}{at}{word}/") for word in ("vm", "vmi") if word.startswith(kind)]
    find = complete_vm if KINDS.get(kind.lower()) == "vm" else complete_vmi
    return [CompletionItem(f"{user}{at}{kind}/{item.value}") for item in find(ctx, param, name)]


instance_argument = click.argument("name", metavar="NAME", shell_complete=complete_vmi)
kind_argument = click.argument("kind", metavar="vm|vmi", shell_complete=complete_kind)
dry_run_option = switch("--dry-run", default=False, help="Validate the request on the server without applying it.")
instance_output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["name", "yaml", "json"]),
    help="Print the instance in this format instead of a message.",
)


def parse_kind(text: str) -> str:
    """Return `vm` or `vmi` for any spelling that kubectl accepts."""
    kind = KINDS.get(text.lower())
    if kind is None:
        message = f'invalid kind "{text}": must be vm or vmi{suggest(text.lower(), KINDS)}'
        raise ArgumentError(message, next_step="For example: vm web")
    return kind


def parse_instance_name(text: str) -> str:
    """Return the name in NAME, vm/NAME or vmi/NAME."""
    kind, slash, name = text.rpartition("/")
    if slash:
        parse_kind(kind)
    return name


def act_on_instance(
    target: Target, text: str, command: str, action: str, *, dry_run: bool = False, output: str | None = None
) -> None:
    """Request an action on an instance and print the result."""
    name = parse_instance_name(text)

    async def act(session: Session) -> Any:
        from virtshape.api.kubevirt.instance import VirtualMachineInstance
        from virtshape.api.status import StatusError
        from virtshape.client.actions import request_action

        options = {"dryRun": ["All"]} if dry_run else {}
        try:
            await request_action(session.client, session.namespace, "virtualmachineinstances", name, action, options)
        except StatusError as error:
            raise await explain_instance_error(session, name, error) from error
        if output in ("yaml", "json"):
            return await session.client.get(VirtualMachineInstance, name, session.namespace)
        return None

    print_scheduled(run_session(target, act), "VMI", "virtualmachineinstance", name, command, output, dry_run=dry_run)


async def explain_instance_error(session: Session, name: str, error: "StatusError") -> "CommandError | StatusError":
    """Return a CommandError with a next step for status 400, 404, 409 and 503; return other errors unchanged."""
    where = f"-n {session.namespace}"
    match error.code:
        case 404:
            return await _explain_absence(session, name)
        case 400 | 409:
            return CommandError(error.message, next_step=f"Check its status: kubectl get vmi {name} {where}")
        case 503:
            return CommandError(error.message, next_step="Start the server with guests: virtshape up --launcher qemu")
        case _:
            return error


async def _explain_absence(session: Session, name: str) -> CommandError:
    where = f"-n {session.namespace}"
    if await find_vm(session, name) is not None:
        return CommandError(f"VM {name} is not running", next_step=f"Start it: virtctl start {name} {where}")
    message = f'instance "{name}" not found in namespace {session.namespace}{suggest(name, await _list_names(session))}'
    return CommandError(message, next_step=f"List the instances: kubectl get vmi {where}")


async def find_vm(session: Session, name: str) -> "VirtualMachine | None":
    """Return the VM, or None if it does not exist or the user may not read it."""
    from virtshape.api.kubevirt.virtualmachine import VirtualMachine
    from virtshape.api.status import StatusError

    try:
        return await session.client.get(VirtualMachine, name, session.namespace)
    except StatusError:
        return None


async def _list_names(session: Session) -> list[str]:
    from virtshape.api.kubevirt.instance import VirtualMachineInstance
    from virtshape.api.status import StatusError

    try:
        listing: Any = await session.client.list(VirtualMachineInstance, session.namespace)
    except StatusError:
        return []
    return [vmi.metadata.name or "" for vmi in listing.items]
