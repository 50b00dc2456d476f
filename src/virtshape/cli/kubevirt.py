"""Commands for the settings of the KubeVirt object: `virtctl permitted-devices` and `virtctl adm log-verbosity`."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from virtshape.cli.command import Command, Example, OptionalValue, output_choice, switch
from virtshape.cli.connection import Session, Target, connection_options, run_session
from virtshape.cli.errors import CommandError
from virtshape.cli.group import Entry, LazyGroup

if TYPE_CHECKING:
    from virtshape.api.kubevirt.kubevirt import KubeVirt

F = TypeVar("F", bound=Callable[..., Any])
COMPONENTS: Final = {
    "virt-api": "virtAPI",
    "virt-controller": "virtController",
    "virt-handler": "virtHandler",
    "virt-launcher": "virtLauncher",
    "virt-operator": "virtOperator",
}
"""The fields of `logVerbosity` by component."""
DEFAULT_VERBOSITY: Final = 2
SHOW: Final = "show"
"""The value of a verbosity flag that is given without a value."""


@click.command(
    "permitted-devices",
    cls=Command,
    short_help="List the host devices that VMs may use.",
    examples=[
        Example("List the devices", "virtctl permitted-devices"),
        Example("List the names of PCI devices", "virtctl permitted-devices -o json | jq -r '.hostDevices[]'"),
    ],
)
@output_choice("text", "json", "yaml", help="Output format.")
@connection_options
def permitted_devices(*, output: str, target: Target) -> None:
    """
    Print the resource names of the host devices and GPUs that VMs may use.

    The devices are listed in `permittedHostDevices` of the KubeVirt object, which is looked up in the namespace, and
    then in all namespaces.
    """
    devices = list_devices(run_session(target, get_kubevirt))
    if output == "text":
        hosts, gpus, usb = (", ".join(names) for names in devices.values())
        click.echo(f"Permitted Devices: \nHost Devices: \n{hosts} \nGPU Devices: \n{gpus}")
        if usb:
            click.echo(f"USB Devices: \n{usb}")
    else:
        from virtshape.cli.output import print_object

        print_object(devices, output)


@click.group(
    "adm",
    cls=LazyGroup,
    entries={
        "log-verbosity": Entry("virtshape.cli.kubevirt", "Show, set or reset log verbosity.", "log_verbosity"),
    },
    examples=[
        Example("Show the log verbosity of all components", "virtctl adm log-verbosity --all"),
        Example("Set the log verbosity of all components", "virtctl adm log-verbosity --all=3"),
    ],
)
def adm() -> None:
    """Change the settings of the KubeVirt object."""


class Verbosity(OptionalValue):
    """A log verbosity from 0 to 9, or `show`."""

    name = "0-9"
    default = SHOW

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return the verbosity as a number, or `show`."""
        if value in (SHOW, "10"):  # in KubeVirt, the value 10 also means `show`
            return SHOW
        if value not in [str(number) for number in range(10)]:
            self.fail(f'invalid log verbosity "{value}": must be 0-9.', param, ctx)
        return int(value)


def verbosity_options(function: F) -> F:
    """Declare a flag for each component, and one for all."""
    for name in reversed(["all", *COMPONENTS]):
        label = "all components" if name == "all" else name
        option = click.option(
            f"--{name}",
            type=Verbosity(),
            metavar="[=0-9]",
            help=f"Show or set the log verbosity of {label}.",
        )
        function = option(function)
    return function


@click.command(
    "log-verbosity",
    cls=Command,
    short_help="Show, set or reset log verbosity.",
    examples=[
        Example("Show the log verbosity of two components", "virtctl adm log-verbosity --virt-api --virt-controller"),
        Example(
            "Set the log verbosity of all components to 3, and of one component to 7",
            "virtctl adm log-verbosity --all=3 --virt-handler=7",
        ),
        Example("Reset all components", "virtctl adm log-verbosity --reset"),
    ],
)
@verbosity_options
@switch(
    "--reset", default=False, help="Reset the log verbosity of all components to 2, before the other flags are applied."
)
@connection_options
def log_verbosity(*, reset: bool, target: Target, **given: int | str | None) -> None:
    """
    Show, set or reset the log verbosity of components in the KubeVirt object.

    A flag without a value shows the verbosity; --virt-api=5 sets it. virtshape's own components have the flag
    --log-level instead: a virtshape server stores the verbosity, and warns that it has no effect.
    """
    flags = {name.replace("_", "-"): value for name, value in given.items() if value is not None}
    shown = [name for name, value in flags.items() if value == SHOW]
    if shown and (reset or len(shown) < len(flags)):
        raise click.UsageError("only show or set is allowed", click.get_current_context())
    if not flags and not reset:
        raise click.UsageError("no flag specified - expecting at least one flag", click.get_current_context())
    if shown:
        kubevirt = run_session(target, get_kubevirt)
        for name, verbosity in read_verbosity(kubevirt).items():
            if name in shown or "all" in shown:
                click.echo(f"{name}={verbosity}")
        return

    async def change(session: Session) -> None:
        from virtshape.api.kubevirt.kubevirt import KubeVirt

        metadata = (await get_kubevirt(session)).metadata
        developer = {"logVerbosity": build_verbosity(flags, reset=reset)}
        patch = {"spec": {"configuration": {"developerConfiguration": developer}}}
        await session.client.patch(KubeVirt, metadata.name or "", metadata.namespace or "", patch=patch)

    run_session(target, change)
    click.echo("successfully set/reset the log verbosity")


async def get_kubevirt(session: Session) -> "KubeVirt":
    """Return the KubeVirt object in the namespace or, if there is none, in any namespace."""
    from virtshape.api.kubevirt.kubevirt import KubeVirt

    for namespace in (session.namespace, ""):
        items = (await session.client.list(KubeVirt, namespace)).items
        if items:
            return items[0]
    raise CommandError("the server has no KubeVirt object", next_step="Choose another server with --context.")


def list_devices(kubevirt: "KubeVirt") -> dict[str, list[str]]:
    """Return the resource names of the permitted devices by type."""
    configuration = kubevirt.spec.configuration
    permitted = configuration.permitted_host_devices if configuration else None
    return {
        "hostDevices": [each.resource_name for each in (permitted.pci_host_devices if permitted else None) or ()],
        "gpuDevices": [each.resource_name for each in (permitted.mediated_devices if permitted else None) or ()],
        "usbDevices": [each.resource_name for each in (permitted.usb if permitted else None) or ()],
    }


def read_verbosity(kubevirt: "KubeVirt") -> dict[str, int]:
    """Return the log verbosity of each component."""
    from virtshape.api.codec import to_tree

    configuration = kubevirt.spec.configuration
    developer = configuration.developer_configuration if configuration else None
    stated = to_tree(developer.log_verbosity) if developer and developer.log_verbosity else {}
    return {name: stated.get(field, DEFAULT_VERBOSITY) for name, field in COMPONENTS.items()}


def build_verbosity(flags: Mapping[str, int | str], *, reset: bool) -> dict[str, int | str | None] | None:
    """Return the merge patch for `logVerbosity`; None removes it."""
    if reset and not flags:
        return None
    removed: dict[str, int | str | None] = (
        {**dict.fromkeys(COMPONENTS.values()), "nodeVerbosity": None} if reset else {}
    )
    everywhere = dict.fromkeys(COMPONENTS.values(), flags["all"]) if "all" in flags else {}
    return removed | everywhere | {COMPONENTS[name]: value for name, value in flags.items() if name != "all"}
