"""
`virtctl create instancetype`: print an instance type built from flags.

Prints v1beta1, which every server supports and which requires a size.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from virtshape.api.instancetype.v1beta1 import (
    MemoryInstancetype,
    VirtualMachineClusterInstancetype,
    VirtualMachineInstancetype,
    VirtualMachineInstancetypeSpec,
)
from virtshape.api.instancetype.v1beta2 import CPUInstancetype
from virtshape.api.kubevirt.devices import GPU, HostDevice
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.quantity import Quantity
from virtshape.cli.command import Command, Example, Integer
from virtshape.cli.create.parameters import parse_parameters, read_quantity, required
from virtshape.cli.create.problems import Problems
from virtshape.cli.create.scope import Scope, scope_options
from virtshape.cli.errors import warn
from virtshape.cli.output import output_option, print_object
from virtshape.cli.paramtypes import TopologyType

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
    ],
)
@scope_options
@click.option("--cpu", type=Integer(1, 2**32 - 1), help="Number of vCPUs.")
@click.option("--topology", type=TopologyType(), help="Exact CPU topology, instead of --cpu.")
@click.option("--memory", metavar="QUANTITY", help="Memory of the guest. Required.")
@click.option("--gpu", multiple=True, metavar=DEVICE, help="Add a GPU. Can be repeated.")
@click.option("--hostdevice", multiple=True, metavar=DEVICE, help="Add a host device. Can be repeated.")
@click.option("--iothreadspolicy", type=click.Choice(["auto", "shared"]), help="I/O threads policy of the disks.")
@output_option
def command(
    *,
    name: str | None,
    namespace: str | None,
    namespaced: bool | None,
    cpu: int | None,
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
    instancetype = kind(
        api_version="instancetype.kubevirt.io/v1beta1",
        kind=kind.__name__,
        metadata=scope.build_metadata("instancetype"),
        spec=VirtualMachineInstancetypeSpec(
            cpu=CPUInstancetype(guest=cpu, topology=topology),
            memory=MemoryInstancetype(guest=amount),
            gpus=[GPU(name=device.name, device_name=device.devicename) for device in gpus] or None,
            host_devices=[HostDevice(name=device.name, device_name=device.devicename) for device in host_devices]
            or None,
            io_threads_policy=iothreadspolicy,
        ),
    )
    if amount.amount <= 0:
        warn(f"--memory {amount}: the server rejects an instance type without memory")
    print_object(instancetype, output)


def read_memory(memory: str | None, problems: Problems) -> Quantity:
    """Parse the value of --memory."""
    if memory is None:
        problems.lines.append("--memory is required")
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
