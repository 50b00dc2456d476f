"""
What commands about one running guest have in common: its name, how it is asked for an action, what a refusal means.

Sends requests to the server; nothing here knows what a guest is.
"""

from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from virtshape.cli.command import switch
from virtshape.cli.connection import Session, Target, complete_vm, complete_vmi, run_session
from virtshape.cli.errors import NotUnderstood, Refusal, suggest
from virtshape.cli.machine import tell_scheduled

if TYPE_CHECKING:
    from virtshape.api.kubevirt.machine import VirtualMachine
    from virtshape.api.status import StatusError

KINDS: Final = {
    **dict.fromkeys(("vm", "vms", "virtualmachine", "virtualmachines"), "vm"),
    **dict.fromkeys(("vmi", "vmis", "virtualmachineinstance", "virtualmachineinstances"), "vmi"),
}
"""What kinds of guests are called, and what we call them."""


def complete_kind(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Offer both kinds."""
    return [CompletionItem(word) for word in ("vm", "vmi") if word.startswith(incomplete)]


def complete_place(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer `vm/NAME` and `vmi/NAME` that begin so, also behind a user."""
    user, at, place = incomplete.rpartition("@")
    kind, slash, name = place.partition("/")
    if not slash:
        return [CompletionItem(f"{user}{at}{word}/") for word in ("vm", "vmi") if word.startswith(kind)]
    find = complete_vm if KINDS.get(kind.lower()) == "vm" else complete_vmi
    return [CompletionItem(f"{user}{at}{kind}/{item.value}") for item in find(ctx, param, name)]


instance_argument = click.argument("name", metavar="NAME", shell_complete=complete_vmi)
kind_argument = click.argument("kind", metavar="vm|vmi", shell_complete=complete_kind)
dry_run_option = switch("--dry-run", default=False, help="Have the server check the request, and change nothing.")
instance_output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["name", "yaml", "json"]),
    help="Print the instance as it is then, in place of the words.",
)


def read_kind(word: str) -> str:
    """`vm` or `vmi`, in any spelling that kubectl takes."""
    kind = KINDS.get(word.lower())
    if kind is None:
        words = f'"{word}" is neither vm nor vmi{suggest(word.lower(), KINDS)}'
        raise NotUnderstood(words, next_step="For example: vm web")
    return kind


def read_instance(text: str) -> str:
    """The name of an instance, also where its kind stands before it as in `vmi/web`."""
    kind, slash, name = text.rpartition("/")
    if slash:
        read_kind(kind)
    return name


def act_on_instance(
    target: Target, text: str, command: str, action: str, *, dry_run: bool = False, output: str | None = None
) -> None:
    """Ask a server to do something with a guest, and say that it was taken on."""
    name = read_instance(text)

    async def ask(session: Session) -> Any:
        from virtshape.api.kubevirt.instance import VirtualMachineInstance
        from virtshape.api.status import StatusError
        from virtshape.client.actions import request_action

        options = {"dryRun": ["All"]} if dry_run else {}
        try:
            await request_action(session.client, session.namespace, "virtualmachineinstances", name, action, options)
        except StatusError as error:
            raise await explain_refusal(session, name, error) from error
        if output in ("yaml", "json"):
            return await session.client.get(VirtualMachineInstance, name, session.namespace)
        return None

    tell_scheduled(run_session(target, ask), "VMI", "virtualmachineinstance", name, command, output, dry_run=dry_run)


async def explain_refusal(session: Session, name: str, error: "StatusError") -> "Refusal | StatusError":
    """The same refusal, with what to do about it."""
    where = f"-n {session.namespace}"
    match error.code:
        case 404:
            return await _explain_absence(session, name)
        case 400 | 409:
            return Refusal(error.message, next_step=f"See how it is: kubectl get vmi {name} {where}")
        case 503:
            return Refusal(error.message, next_step="Guests run where `virtshape up` was given a --launcher.")
        case _:
            return error


async def _explain_absence(session: Session, name: str) -> Refusal:
    where = f"-n {session.namespace}"
    if await find_machine(session, name) is not None:
        return Refusal(f"VM {name} does not run", next_step=f"Start it: virtctl start {name} {where}")
    words = f'there is no guest "{name}" in namespace {session.namespace}{suggest(name, await _list_names(session))}'
    return Refusal(words, next_step=f"See which ones there are: kubectl get vmi {where}")


async def find_machine(session: Session, name: str) -> "VirtualMachine | None":
    """The VM of this name; None where there is none, or none that the user may see."""
    from virtshape.api.kubevirt.machine import VirtualMachine
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
    return [vmi.metadata.name or "" for vmi in listing.items if vmi.metadata]
