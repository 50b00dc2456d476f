"""
`virtctl create instancetype`: print an instance type built from flags.

The API version is v1beta1, which every server supports and which requires a size, or v1beta2 if VMs set their own vCPUs
or memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from virtshape.admission.rules.instancetypelimits import check_sizing_policy
from virtshape.api.instancetype.v1beta2 import (
    CPUInstancetype,
    CPULimits,
    MemoryInstancetype,
    MemoryLimits,
    VirtualMachineClusterInstancetype,
    VirtualMachineInstancetype,
    VirtualMachineInstancetypeSpec,
)
from virtshape.api.kubevirt.devices import GPU, HostDevice
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.quantity import Quantity
from virtshape.cli.command import Command, Example
from virtshape.cli.create.limitflags import CPULimitsType, MemoryLimitsType
from virtshape.cli.create.parameters import parse_parameters, read_quantity, required
from virtshape.cli.create.problems import Problems
from virtshape.cli.create.scope import Scope, scope_options
from virtshape.cli.errors import ArgumentError, warn
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
            "Print a cluster-wide instance type with two vCPUs and 4Gi of memory",
            "virtctl create instancetype --name small --cpu 2 --memory 4Gi",
        ),
        Example(
            "Print a namespaced instance type with a GPU",
            "virtctl create instancetype --namespaced --cpu 8 --memory 32Gi --gpu name:gpu1,devicename:nvidia.com/A10",
        ),
        Example(
            "Print an instance type with an exact CPU topology",
            "virtctl create instancetype --name wide --topology sockets=2,cores=4,threads=2 --memory 64Gi",
        ),
        Example(
            "Print an instance type with 8Gi of memory that leaves the vCPUs to VMs",
            "virtctl create instancetype --name flexible --cpu open --memory 8Gi",
        ),
        Example(
            "Limit the sizes that VMs may set",
            "virtctl create instancetype --name balanced --cpu open --cpu-limits min=2,max=16,step=2 "
            "--memory open --memory-limits step=1Gi,per-vcpu-min=2Gi,per-vcpu-max=8Gi",
        ),
    ],
)
@scope_options
@click.option("--cpu", type=Vcpus(), metavar="NUMBER|open", help="Number of vCPUs, or `open` to leave it to each VM.")
@click.option("--topology", type=TopologyType(), help="Exact CPU topology, instead of --cpu.")
@click.option(
    "--memory", metavar="QUANTITY|open", help="Memory of the guest, or `open` to leave it to each VM. Required."
)
@click.option(
    "--cpu-limits", type=CPULimitsType(), help="The vCPUs that VMs may set, with --cpu open; each part is optional."
)
@click.option(
    "--memory-limits",
    type=MemoryLimitsType(),
    help="The memory that VMs may set, in total and per vCPU, with --memory open; each part is optional.",
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
    cpu_limits: CPULimits | None,
    memory_limits: MemoryLimits | None,
    gpu: Sequence[str],
    hostdevice: Sequence[str],
    iothreadspolicy: str | None,
    output: str,
) -> None:
    """
    Print an instance type.

    --memory and either --cpu or --topology are required.

    If a size is `open`, each VM sets it: `virtctl create vm --instancetype NAME --vcpus 4 --memory 8Gi`. Such an
    instance type has the API version v1beta2, in which sizes are optional. KubeVirt up to version 1.8 does not serve
    v1beta2.

    --cpu-limits and --memory-limits set the sizes that VMs may choose. They are an extension of the API that KubeVirt
    does not have.
    """
    problems = Problems()
    if (cpu is None) == (topology is None):
        problems.lines.append("exactly one of --cpu and --topology is required")
    amount = read_memory(memory, problems)
    if cpu_limits is not None and cpu != OPEN:
        problems.lines.append("--cpu-limits requires --cpu open")
    if memory_limits is not None and memory != OPEN:
        problems.lines.append("--memory-limits requires --memory open")
    gpus = read_devices("--gpu", gpu, problems)
    host_devices = read_devices("--hostdevice", hostdevice, problems)
    problems.raise_all()
    scope = Scope(name, namespace, namespaced)
    kind = VirtualMachineInstancetype if scope.is_namespaced else VirtualMachineClusterInstancetype
    spec = VirtualMachineInstancetypeSpec(
        cpu=build_open_cpu(cpu_limits) if cpu == OPEN else CPUInstancetype(guest=cpu, topology=topology),
        memory=build_open_memory(memory_limits) if amount == OPEN else MemoryInstancetype(guest=amount),
        gpus=[GPU(name=device.name, device_name=device.devicename) for device in gpus] or None,
        host_devices=[HostDevice(name=device.name, device_name=device.devicename) for device in host_devices] or None,
        io_threads_policy=iothreadspolicy,
    )
    invalid = [problem.message for problem in check_sizing_policy(spec)]
    if invalid:
        raise ArgumentError("the limits are invalid", invalid)
    instancetype = kind(
        api_version="instancetype.kubevirt.io/v1beta1" if states_size(spec) else SIZES_OPTIONAL_SINCE,
        kind=kind.__name__,
        metadata=scope.build_metadata("instancetype"),
        spec=spec,
    )
    if amount != OPEN and amount.amount <= 0:
        warn(f"--memory {amount}: the server rejects an instance type without memory")
    print_object(instancetype, output)


def build_open_cpu(limits: CPULimits | None) -> CPUInstancetype | None:
    """Return the CPU part of an instance type whose VMs set their own vCPUs."""
    return CPUInstancetype(limits=limits) if limits is not None else None


def build_open_memory(limits: MemoryLimits | None) -> MemoryInstancetype | None:
    """Return the memory part of an instance type whose VMs set their own memory."""
    return MemoryInstancetype(limits=limits) if limits is not None else None


def read_memory(memory: str | None, problems: Problems) -> Quantity | Open:
    """Parse the value of --memory; if it is missing or invalid, add a problem and return 0."""
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
