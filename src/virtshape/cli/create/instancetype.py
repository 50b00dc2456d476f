"""
`virtctl create instancetype`: print an instance type built from flags.

Prints v1beta1, which every server supports and which requires a size, or v1beta2 if a size is left open.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from virtshape.api.instancetype.v1beta2 import (
    CPUInstancetype,
    MemoryInstancetype,
    VirtualMachineClusterInstancetype,
    VirtualMachineInstancetype,
    VirtualMachineInstancetypeSpec,
)
from virtshape.api.kubevirt.devices import GPU, HostDevice
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.quantity import Quantity
from virtshape.cli.command import Command, Example
from virtshape.cli.create.parameters import parse_parameters, read_quantity, required
from virtshape.cli.create.problems import Problems
from virtshape.cli.create.scope import Scope, scope_options
from virtshape.cli.errors import warn
from virtshape.cli.output import output_option, print_object
from virtshape.cli.paramtypes import TopologyType, Vcpus
from virtshape.engine.customize import OPEN, SIZES_OPTIONAL_SINCE, Open, states_size

DEVICE = "name:NAME,devicename:DEVICE"


@dataclass(frozen=True)
class DeviceParameters:
    """Parameters of a host device."""

    name: str = required()
    devicename: str = required()


@click.command(
    "instancetype",
    cls=Command,
    examples=[
        Example(
            "Cluster-wide, with two vCPUs and 4Gi of memory",
            "virtctl create instancetype --name small --cpu 2 --memory 4Gi",
        ),
        Example(
            "Namespaced, with a GPU",
            "virtctl create instancetype --namespaced --cpu 8 --memory 32Gi --gpu name:gpu1,devicename:nvidia.com/A10",
        ),
        Example(
            "With an exact CPU topology",
            "virtctl create instancetype --name wide --topology sockets=2,cores=4,threads=2 --memory 64Gi",
        ),
        Example(
            "With 8Gi of memory, for VMs that choose their vCPUs",
            "virtctl create instancetype --name flexible --cpu open --memory 8Gi",
        ),
    ],
)
@scope_options
@click.option("--cpu", type=Vcpus(), metavar="NUMBER|open", help="Number of vCPUs, or open to leave it to each VM.")
@click.option("--topology", type=TopologyType(), help="Exact CPU topology, instead of --cpu.")
@click.option(
    "--memory", metavar="QUANTITY|open", help="Memory of the guest, or open to leave it to each VM. Required."
)
@click.option("--gpu", multiple=True, metavar=DEVICE, help="Add a GPU. Can be repeated.")
@click.option("--hostdevice", multiple=True, metavar=DEVICE, help="Add a host device. Can be repeated.")
@click.option("--iothreadspolicy", type=click.Choice(["auto", "shared"]), help="I/O threads policy of the disks.")
@output_option
def command(
    *,
    name: str | None,
    namespace: str | None,
    namespaced: bool | None,
    cpu: int | Open | None,
    topology: CPUTopology | None,
    memory: str | None,
    gpu: Sequence[str],
    hostdevice: Sequence[str],
    iothreadspolicy: str | None,
    output: str,
) -> None:
    """
    Print an instance type.

    Requires --memory and either --cpu or --topology.

    A VM sets a size that is open itself: `virtctl create vm --vcpus 4 --memory 8Gi`. Such an instance type has the API
    version v1beta2, in which sizes are optional. KubeVirt up to version 1.8 does not serve it.
    """
    problems = Problems()
    if (cpu is None) == (topology is None):
        problems.lines.append("exactly one of --cpu and --topology is required")
    amount = read_memory(memory, problems)
    gpus = read_devices("--gpu", gpu, problems)
    host_devices = read_devices("--hostdevice", hostdevice, problems)
    problems.raise_all()
    scope = Scope(name, namespace, namespaced)
    kind = VirtualMachineInstancetype if scope.is_namespaced else VirtualMachineClusterInstancetype
    spec = VirtualMachineInstancetypeSpec(
        cpu=None if cpu == OPEN else CPUInstancetype(guest=cpu, topology=topology),
        memory=None if amount == OPEN else MemoryInstancetype(guest=amount),
        gpus=[GPU(name=device.name, device_name=device.devicename) for device in gpus] or None,
        host_devices=[HostDevice(name=device.name, device_name=device.devicename) for device in host_devices] or None,
        io_threads_policy=iothreadspolicy,
    )
    instancetype = kind(
        api_version="instancetype.kubevirt.io/v1beta1" if states_size(spec) else SIZES_OPTIONAL_SINCE,
        kind=kind.__name__,
        metadata=scope.build_metadata("instancetype"),
        spec=spec,
    )
    if amount != OPEN and amount.amount <= 0:
        warn(f"--memory {amount}: the server rejects an instance type without memory")
    print_object(instancetype, output)


def read_memory(memory: str | None, problems: Problems) -> Quantity | Open:
    """Parse the value of --memory."""
    if memory is None:
        problems.lines.append("--memory is required")
    elif memory == OPEN:
        return OPEN
    else:
        with problems.collect("--memory"):
            return read_quantity(memory)
    return Quantity("0")


def read_devices(flag: str, texts: Sequence[str], problems: Problems) -> list[DeviceParameters]:
    """Parse the devices of a flag."""
    devices = []
    for text in texts:
        with problems.collect(flag):
            devices.append(parse_parameters(text, DeviceParameters))
    return devices
