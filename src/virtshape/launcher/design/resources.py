"""Check resource requests and limits against the host."""

from collections.abc import Mapping
from typing import Final

from virtshape.api.kubevirt.domain import ResourceRequirements
from virtshape.api.path import format_path
from virtshape.api.quantity import Quantity
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.design.memory import find_memory

_RESOURCES: Final = ("spec", "domain", "resources")


def check_resources(context: DesignContext, vcpus: int) -> None:
    """Refuse resources that the host does not have and memory limits below the guest's memory; note CPU limits."""
    resources = context.spec.domain.resources or ResourceRequirements()
    requests, limits = resources.requests or {}, resources.limits or {}
    _check_memory_request(context, requests)
    _check_cpu_request(context, requests)
    _check_limits(context, limits, vcpus)
    for kind, amounts in (("requests", requests), ("limits", limits)):
        for name in amounts:
            _check_name(context, kind, name)


def _check_memory_request(context: DesignContext, requests: Mapping[str, Quantity]) -> None:
    domain, there = context.spec.domain, context.host.memory
    wanted = requests.get("memory") or find_memory(domain)
    reserved = domain.memory.reserved_overhead if domain.memory is not None else None
    sparing = domain.resources is not None and domain.resources.overcommit_guest_overhead
    added = reserved.added_overhead if reserved is not None and not sparing else None
    total = (wanted.value() if wanted else 0) + (added.value() if added else 0)
    if there and total > there:
        field = "spec.domain.memory.guest" if "memory" not in requests else _field("requests", "memory")
        has = Quantity.of(there, "BinarySI")
        context.refuse(field, f"requests {Quantity.of(total, 'BinarySI')} of memory; this host has {has}")


def _check_cpu_request(context: DesignContext, requests: Mapping[str, Quantity]) -> None:
    there = len(context.host.cpus)
    if there and "cpu" in requests and requests["cpu"].amount > there:
        context.refuse(_field("requests", "cpu"), f"requests {requests['cpu']} CPUs; this host has {there}")


def _check_limits(context: DesignContext, limits: Mapping[str, Quantity], vcpus: int) -> None:
    cpu, memory, guest = limits.get("cpu"), limits.get("memory"), find_memory(context.spec.domain)
    if cpu is not None and cpu.amount < vcpus:
        context.note(_field("limits", "cpu"), f"is not enforced: the guest can use all of its {vcpus} vCPUs")
    if memory is not None and guest is not None and memory.amount < guest.amount:
        context.refuse(_field("limits", "memory"), f"is less than the {guest} that the guest has")


def _check_name(context: DesignContext, kind: str, name: str) -> None:
    if name not in ("cpu", "memory") and not context.host.devices.get(name):
        context.refuse(_field(kind, name), "this host has no such resource")


def _field(kind: str, name: str) -> str:
    return format_path((*_RESOURCES, kind, name))
