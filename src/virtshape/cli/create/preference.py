"""
`virtctl create preference`: print a preference built from flags.

Prints v1beta1, which every server supports.
"""

import click

from virtshape.api.instancetype.preference import (
    CPUPreferences,
    MachinePreferences,
    VirtualMachinePreferenceSpec,
    VolumePreferences,
)
from virtshape.api.instancetype.v1beta1 import VirtualMachineClusterPreference, VirtualMachinePreference
from virtshape.cli.command import Command, Example
from virtshape.cli.create.scope import Scope, scope_options
from virtshape.cli.errors import warn
from virtshape.cli.output import output_option, print_object

TOPOLOGIES = ["sockets", "cores", "threads", "spread", "any"]
OLDER_TOPOLOGIES = {f"prefer{topology.capitalize()}": topology for topology in TOPOLOGIES}


@click.command(
    "preference",
    cls=Command,
    examples=[
        Example(
            "Present vCPUs as cores of one socket", "virtctl create preference --name desktop --cpu-topology cores"
        ),
        Example(
            "Namespaced, with a machine type and a storage class",
            "virtctl create preference --namespaced --machine-type q35 --volume-storage-class fast",
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
@click.option("--volume-storage-class", help="Preferred storage class of volumes without one.")
@output_option
def command(
    *,
    name: str | None,
    namespace: str | None,
    namespaced: bool | None,
    cpu_topology: str | None,
    machine_type: str | None,
    volume_storage_class: str | None,
    output: str,
) -> None:
    """Print a preference: default settings for VMs."""
    spec = VirtualMachinePreferenceSpec(
        cpu=CPUPreferences(preferred_cpu_topology=cpu_topology) if cpu_topology is not None else None,
        machine=MachinePreferences(preferred_machine_type=machine_type or None) if machine_type is not None else None,
        volumes=VolumePreferences(preferred_storage_class_name=volume_storage_class or None)
        if volume_storage_class is not None
        else None,
    )
    if cpu_topology in OLDER_TOPOLOGIES:
        warn(f"--cpu-topology {cpu_topology} is deprecated; use {OLDER_TOPOLOGIES[cpu_topology]}")
    scope = Scope(name, namespace, namespaced)
    kind = VirtualMachinePreference if scope.is_namespaced else VirtualMachineClusterPreference
    metadata = scope.build_metadata("preference")
    print_object(
        kind(api_version="instancetype.kubevirt.io/v1beta1", kind=kind.__name__, metadata=metadata, spec=spec), output
    )
