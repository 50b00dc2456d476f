"""Defaults for VMI fields that the VM, its instance type and its preference all leave unset."""

from typing import Final

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import CPU, DomainSpec, Machine, Memory, ResourceRequirements
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.quantity import Quantity
from virtshape.engine.cpu import put_topology
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE, default_machine_type
from virtshape.engine.memory import default_memory, find_amount, put_request
from virtshape.engine.topology import Topology

_UNSET_CPU_REQUEST: Final = Quantity("100m")


def apply_defaults(
    spec: VirtualMachineInstanceSpec,
    configuration: KubeVirtConfiguration | None,
    architecture: str = DEFAULT_ARCHITECTURE,
) -> None:
    """Fill in the fields that are still unset, from the configuration or with KubeVirt's defaults."""
    domain = spec.domain
    spec.architecture = spec.architecture or architecture
    if domain.machine is None or not domain.machine.type:
        domain.machine = Machine(type=default_machine_type(spec.architecture, configuration))
    if spec.eviction_strategy is None:
        spec.eviction_strategy = (configuration.eviction_strategy if configuration else None) or "None"
    if domain.resources is not None or configuration is not None:
        _default_cpu_request(domain, configuration)
    cpu = domain.cpu = domain.cpu or CPU()
    if not (cpu.sockets or cpu.cores or cpu.threads):
        put_topology(cpu, _default_topology(domain.resources))
    memory = domain.memory = domain.memory or Memory()
    if memory.guest is None:
        memory.guest = default_memory(domain)
    _default_pull_policies(spec)


def _default_cpu_request(domain: DomainSpec, configuration: KubeVirtConfiguration | None) -> None:
    """Set a missing CPU request to the limit, or else to the configured `cpuRequest` unless CPUs are dedicated."""
    resources = domain.resources
    if resources is not None:
        if find_amount(resources.requests, "cpu") is not None:
            return
        limit = find_amount(resources.limits, "cpu")
        if limit is not None:
            put_request(domain, "cpu", limit)
            return
    wanted = configuration.cpu_request if configuration else None
    if wanted is None or wanted.same_as(_UNSET_CPU_REQUEST):
        return
    if domain.cpu is None or not domain.cpu.dedicated_cpu_placement:
        put_request(domain, "cpu", wanted)


def _default_topology(resources: ResourceRequirements | None) -> Topology:
    """Return one single-core socket for each CPU in the limit, or else in the request; one socket if neither is set."""
    for amounts in (resources.limits, resources.requests) if resources else ():
        if amounts and "cpu" in amounts:
            return Topology(sockets=amounts["cpu"].value() % 2**32)  # KubeVirt counts sockets with 32-bit integers
    return Topology()


def _default_pull_policies(spec: VirtualMachineInstanceSpec) -> None:
    """Set missing pull policies: `Always` for images that end in `:latest` or have no colon, else `IfNotPresent`."""
    for volume in spec.volumes or ():
        disk = volume.container_disk
        if disk is not None and not disk.image_pull_policy:
            moving = disk.image.endswith(":latest") or ":" not in disk.image
            disk.image_pull_policy = "Always" if moving else "IfNotPresent"
