"""`virtctl permitted-devices`: list the host devices that the KubeVirt object permits."""

from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, output_choice
from virtshape.cli.connection import Session, Target, connection_options, run_session
from virtshape.cli.errors import CommandError

if TYPE_CHECKING:
    from virtshape.api.kubevirt.kubevirt import KubeVirt


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
def command(*, output: str, target: Target) -> None:
    """
    Print the resource names of the host devices and GPUs that VMs may use.

    They are listed in `permittedHostDevices` of the KubeVirt object, which is looked up in the namespace, and then in
    all namespaces.
    """

    async def find(session: Session) -> "KubeVirt":
        from virtshape.api.kubevirt.kubevirt import KubeVirt

        for namespace in (session.namespace, ""):
            items = (await session.client.list(KubeVirt, namespace)).items
            if items:
                return items[0]
        raise CommandError("the server has no KubeVirt object", next_step="Choose another server with --context.")

    devices = list_devices(run_session(target, find))
    if output == "text":
        hosts, gpus, usb = (", ".join(names) for names in devices.values())
        click.echo(f"Permitted Devices: \nHost Devices: \n{hosts} \nGPU Devices: \n{gpus}")
        if usb:
            click.echo(f"USB Devices: \n{usb}")
    else:
        from virtshape.cli.output import print_object

        print_object(devices, output)


def list_devices(kubevirt: "KubeVirt") -> dict[str, list[str]]:
    """Return the resource names by type."""
    configuration = kubevirt.spec.configuration
    permitted = configuration.permitted_host_devices if configuration else None
    return {
        "hostDevices": [each.resource_name for each in (permitted.pci_host_devices if permitted else None) or ()],
        "gpuDevices": [each.resource_name for each in (permitted.mediated_devices if permitted else None) or ()],
        "usbDevices": [each.resource_name for each in (permitted.usb if permitted else None) or ()],
    }
