"""
What a guest takes from the machine, beside what it sees itself.

Pure: no I/O, no clock, no logging.
"""

from collections.abc import Mapping
from typing import Final

from virtshape.api.kubevirt.domain import ResourceRequirements
from virtshape.api.path import format_path
from virtshape.api.quantity import Quantity
from virtshape.launcher.design.devices.brief import Brief
from virtshape.launcher.design.memory import find_memory

_RESOURCES: Final = ("spec", "domain", "resources")


def check_resources(brief: Brief, vcpus: int) -> None:
    """Whether the machine has what is requested, and keeps to the limits."""
    resources = brief.spec.domain.resources or ResourceRequirements()
    requests, limits = resources.requests or {}, resources.limits or {}
    _check_memory_request(brief, requests)
    _check_cpu_request(brief, requests)
    _check_limits(brief, limits, vcpus)
    for kind, amounts in (("requests", requests), ("limits", limits)):
        for name in amounts:
            _check_name(brief, kind, name)


def _check_memory_request(brief: Brief, requests: Mapping[str, Quantity]) -> None:
    domain, there = brief.spec.domain, brief.host.memory
    wanted = requests.get("memory") or find_memory(domain)
    reserved = domain.memory.reserved_overhead if domain.memory is not None else None
    sparing = domain.resources is not None and domain.resources.overcommit_guest_overhead
    added = reserved.added_overhead if reserved is not None and not sparing else None
    total = (wanted.value() if wanted else 0) + (added.value() if added else 0)
    if there and total > there:
        field = "spec.domain.memory.guest" if "memory" not in requests else _field("requests", "memory")
        has = Quantity.of(there, "BinarySI")
        brief.refuse(field, f"asks for {Quantity.of(total, 'BinarySI')} of memory; this machine has {has}")


def _check_cpu_request(brief: Brief, requests: Mapping[str, Quantity]) -> None:
    there = len(brief.host.cpus)
    if there and "cpu" in requests and requests["cpu"].amount > there:
        brief.refuse(_field("requests", "cpu"), f"asks for {requests['cpu']} CPUs; this machine has {there}")


def _check_limits(brief: Brief, limits: Mapping[str, Quantity], vcpus: int) -> None:
    cpu, memory, guest = limits.get("cpu"), limits.get("memory"), find_memory(brief.spec.domain)
    if cpu is not None and cpu.amount < vcpus:
        brief.note(_field("limits", "cpu"), f"nobody holds the guest to less than its {vcpus} vCPUs here")
    if memory is not None and guest is not None and memory.amount < guest.amount:
        brief.refuse(_field("limits", "memory"), f"is less than the {guest} that the guest has")


def _check_name(brief: Brief, kind: str, name: str) -> None:
    if name not in ("cpu", "memory") and not brief.host.devices.get(name):
        brief.refuse(_field(kind, name), "this machine has nothing of that name to give")


def _field(kind: str, name: str) -> str:
    return format_path((*_RESOURCES, kind, name))
