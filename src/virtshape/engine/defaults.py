"""
Defaults of a VMI: what stands where neither VM, instance type nor preference said anything.

Pure: no I/O, no clock, no logging.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import CPU, DomainSpec, KernelBootContainer, Machine, Memory
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.volume import ContainerDiskSource
from virtshape.api.quantity import Quantity
from virtshape.engine.cpu import put_topology
from virtshape.engine.machine import DEFAULT_ARCHITECTURE, default_machine_type
from virtshape.engine.memory import put_request
from virtshape.engine.topology import Topology

_UNSET_CPU_REQUEST: Final = Quantity("100m")
_ZERO: Final = Quantity("0")


def apply_defaults(
    spec: VirtualMachineInstanceSpec,
    configuration: KubeVirtConfiguration | None,
    architecture: str = DEFAULT_ARCHITECTURE,
) -> None:
    """Fill in everything that a VMI needs and nobody chose."""
    domain = spec.domain
    spec.architecture = spec.architecture or architecture
    if domain.machine is None or not domain.machine.type:
        domain.machine = Machine(type=default_machine_type(spec.architecture, configuration))
    if spec.eviction_strategy is None:
        spec.eviction_strategy = (configuration.eviction_strategy if configuration else None) or "None"
    _default_cpu_request(domain, configuration)
    _default_topology(domain)
    _default_memory(domain)
    _default_pull_policies(spec)


def _default_cpu_request(domain: DomainSpec, configuration: KubeVirtConfiguration | None) -> None:
    """Request the CPU limit; without one, what the configuration asks for each VMI that has no CPUs to itself."""
    resources = domain.resources
    requests, limits = (resources.requests, resources.limits) if resources else (None, None)
    if not _amount(requests, "cpu").is_zero():
        return
    if limits and not _amount(limits, "cpu").is_zero():
        put_request(domain, "cpu", limits["cpu"])
        return
    wanted = configuration.cpu_request if configuration else None
    if wanted is None or wanted.same_as(_UNSET_CPU_REQUEST):
        return
    if domain.cpu is None or not domain.cpu.dedicated_cpu_placement:
        put_request(domain, "cpu", wanted)


def _amount(resources: Mapping[str, Quantity] | None, name: str) -> Quantity:
    return resources.get(name, _ZERO) if resources else _ZERO


def _default_topology(domain: DomainSpec) -> None:
    """One core on each of as many sockets as the CPU limit, or request, asks for."""
    cpu = domain.cpu = domain.cpu or CPU()
    if cpu.sockets or cpu.cores or cpu.threads:
        return
    resources = domain.resources
    for amounts in (resources.limits, resources.requests) if resources else ():
        if amounts and "cpu" in amounts:
            put_topology(cpu, Topology(sockets=amounts["cpu"].value()))
            return
    put_topology(cpu, Topology())


def _default_memory(domain: DomainSpec) -> None:
    """Give the guest what is requested, else the limit, else one huge page."""
    memory = domain.memory = domain.memory or Memory()
    if memory.guest is not None:
        return
    resources = domain.resources
    for amounts in (resources.requests, resources.limits) if resources else ():
        amount = _amount(amounts, "memory")
        if not amount.is_zero():
            memory.guest = amount
            return
    if memory.hugepages is not None and memory.hugepages.page_size:
        with suppress(ValueError):  # a page size that is none is refused elsewhere
            memory.guest = Quantity(memory.hugepages.page_size)


def _default_pull_policies(spec: VirtualMachineInstanceSpec) -> None:
    """Pull an image anew only where its tag may move."""
    for volume in spec.volumes or ():
        if volume.container_disk is not None:
            _default_pull_policy(volume.container_disk)
    firmware = spec.domain.firmware
    if firmware is not None and firmware.kernel_boot is not None and firmware.kernel_boot.container is not None:
        _default_pull_policy(firmware.kernel_boot.container)


def _default_pull_policy(source: ContainerDiskSource | KernelBootContainer) -> None:
    if not source.image_pull_policy:
        moving = source.image.endswith(":latest") or ":" not in source.image
        source.image_pull_policy = "Always" if moving else "IfNotPresent"
