"""
`virtctl create preference`: print a preference built from flags.

The API version is v1beta1, which every server supports.
"""

import click

from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta1 import VirtualMachineClusterPreference, VirtualMachinePreference
from virtshape.cli.command import Command, Example
from virtshape.cli.create.preferenceflags import preference_options
from virtshape.cli.create.scope import Scope, scope_options
from virtshape.cli.errors import warn
from virtshape.cli.output import output_option, print_object
from virtshape.engine.preferencechanges import PreferenceChanges, apply_changes

TOPOLOGIES = ["sockets", "cores", "threads", "spread", "any"]
OLDER_TOPOLOGIES = {f"prefer{topology.capitalize()}": topology for topology in TOPOLOGIES}


@click.command(
    "preference",
    cls=Command,
    examples=[
        Example(
            "Print a preference that presents vCPUs as cores of one socket",
            "virtctl create preference --name desktop --cpu-topology cores",
        ),
        Example(
            "Print a namespaced preference with a machine type and a storage class",
            "virtctl create preference --namespaced --machine-type q35 --volume-storage-class fast",
        ),
        Example(
            "Print a preference for a Windows guest without virtio drivers",
            "virtctl create preference --name bare --disk-bus sata --interface-model e1000e --firmware secure-boot",
        ),
    ],
)
@scope_options
@click.option(
    "--cpu-topology",
    type=click.Choice([*TOPOLOGIES, *OLDER_TOPOLOGIES]),
    metavar=f"[{'|'.join(TOPOLOGIES)}]",
    help="Preferred CPU topology.",
)
@click.option("--machine-type", help="Preferred machine type, such as q35.")
@click.option("--volume-storage-class", help="Preferred storage class for volumes that do not set one.")
@preference_options
@output_option
def command(
    *,
    name: str | None,
    namespace: str | None,
    namespaced: bool | None,
    cpu_topology: str | None,
    machine_type: str | None,
    volume_storage_class: str | None,
    disk_bus: str | None,
    cdrom_bus: str | None,
    interface_model: str | None,
    firmware: str | None,
    timezone: str | None,
    output: str,
) -> None:
    """Print a preference: default settings for VMs."""
    spec = VirtualMachinePreferenceSpec()
    changes = PreferenceChanges(
        disk_bus=disk_bus,
        cdrom_bus=cdrom_bus,
        interface_model=interface_model,
        firmware=firmware,
        machine_type=machine_type,
        cpu_topology=cpu_topology,
        timezone=timezone,
        storage_class=volume_storage_class,
    )
    apply_changes(spec, changes)
    if cpu_topology in OLDER_TOPOLOGIES:
        warn(f"--cpu-topology {cpu_topology} is deprecated; use {OLDER_TOPOLOGIES[cpu_topology]}")
    scope = Scope(name, namespace, namespaced)
    kind = VirtualMachinePreference if scope.is_namespaced else VirtualMachineClusterPreference
    metadata = scope.build_metadata("preference")
    print_object(
        kind(api_version="instancetype.kubevirt.io/v1beta1", kind=kind.__name__, metadata=metadata, spec=spec), output
    )
