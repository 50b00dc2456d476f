"""
Defaults of a VMI: what stands where neither VM, instance type nor preference said anything.

Pure: no I/O, no clock, no logging.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import CPU, KernelBootContainer, Machine, Memory, ResourceRequirements
from virtshape.api.kubevirt.volume import ContainerDiskSource
from virtshape.api.quantity import Quantity
from virtshape.engine.cpu import put_topology
from virtshape.engine.draft import Draft
from virtshape.engine.machine import DEFAULT_ARCHITECTURE, default_machine_type
from virtshape.engine.topology import Topology

_UNSET_CPU_REQUEST: Final = Quantity("100m")
_ZERO: Final = Quantity("0")


def apply_defaults(
    draft: Draft, configuration: KubeVirtConfiguration | None, architecture: str = DEFAULT_ARCHITECTURE
) -> None:
    """Fill in everything that a VMI needs and nobody chose."""
    draft.source = "default"
    spec = draft.spec
    if not spec.architecture:
        draft.put(spec, "architecture", architecture)
    _default_machine(draft, configuration)
    if spec.eviction_strategy is None:
        chosen = configuration.eviction_strategy if configuration else None
        draft.put(spec, "eviction_strategy", chosen or "None")
    _default_requests(draft, configuration)
    _default_topology(draft)
    _default_memory(draft)
    _default_pull_policies(draft)


def _default_machine(draft: Draft, configuration: KubeVirtConfiguration | None) -> None:
    domain = draft.spec.domain
    if domain.machine is None or not domain.machine.type:
        machine_type = default_machine_type(draft.spec.architecture or DEFAULT_ARCHITECTURE, configuration)
        draft.put(domain, "machine", Machine(type=machine_type))


def _amount(resources: Mapping[str, Quantity] | None, name: str) -> Quantity:
    return (resources or {}).get(name, _ZERO)


def _default_requests(draft: Draft, configuration: KubeVirtConfiguration | None) -> None:
    """Request the CPU limit; without one, what the configuration asks for each VMI that has no CPUs to itself."""
    domain = draft.spec.domain
    resources = domain.resources
    limits = resources.limits if resources else None
    if not _amount(resources.requests if resources else None, "cpu").is_zero():
        return
    if limits and not _amount(limits, "cpu").is_zero():
        _request_cpu(draft, limits["cpu"])
        return
    wanted = configuration.cpu_request if configuration else None
    if wanted is not None and wanted.amount != _UNSET_CPU_REQUEST.amount:
        if domain.cpu is None or not domain.cpu.dedicated_cpu_placement:
            _request_cpu(draft, wanted)


def _request_cpu(draft: Draft, amount: Quantity) -> None:
    domain = draft.spec.domain
    if domain.resources is None:
        draft.put(domain, "resources", ResourceRequirements())
    assert domain.resources is not None
    if domain.resources.requests is None:
        draft.put(domain.resources, "requests", {})
    draft.put_key(domain.resources.requests, "cpu", amount)


def _default_topology(draft: Draft) -> None:
    """One core on each of as many sockets as the CPU limit, or request, asks for; one at least."""
    domain = draft.spec.domain
    if domain.cpu is None:
        draft.put(domain, "cpu", CPU())
    cpu = domain.cpu
    assert cpu is not None
    if cpu.sockets or cpu.cores or cpu.threads:
        return
    resources = domain.resources
    for amounts in (resources.limits, resources.requests) if resources else ():
        if amounts and "cpu" in amounts:
            put_topology(draft, cpu, Topology(sockets=amounts["cpu"].value()))
            return
    put_topology(draft, cpu, Topology())


def _default_memory(draft: Draft) -> None:
    """Give the guest what is requested, else the limit, else one huge page."""
    domain = draft.spec.domain
    if domain.memory is None:
        draft.put(domain, "memory", Memory())
    memory = domain.memory
    assert memory is not None
    if memory.guest is not None:
        return
    resources = domain.resources
    for amounts in (resources.requests, resources.limits) if resources else ():
        amount = _amount(amounts, "memory")
        if not amount.is_zero():
            draft.put(memory, "guest", amount)
            return
    if memory.hugepages is not None and memory.hugepages.page_size:
        with suppress(ValueError):  # a page size that is none is refused elsewhere
            draft.put(memory, "guest", Quantity(memory.hugepages.page_size))


def _default_pull_policies(draft: Draft) -> None:
    """Pull an image anew only where its tag may move."""
    for volume in draft.spec.volumes or ():
        if volume.container_disk is not None:
            _default_pull_policy(draft, volume.container_disk)
    firmware = draft.spec.domain.firmware
    if firmware is not None and firmware.kernel_boot is not None and firmware.kernel_boot.container is not None:
        _default_pull_policy(draft, firmware.kernel_boot.container)


def _default_pull_policy(draft: Draft, source: ContainerDiskSource | KernelBootContainer) -> None:
    if not source.image_pull_policy:
        moving = source.image.endswith(":latest") or ":" not in source.image
        draft.put(source, "image_pull_policy", "Always" if moving else "IfNotPresent")
