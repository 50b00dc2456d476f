"""Validate memory hotplug (maxGuest): incompatible features, alignment and minimum size."""

from collections.abc import Iterator
from typing import Final

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.domain import DomainSpec, Memory
from virtshape.api.quantity import Quantity

_BLOCK: Final = Quantity("2Mi")
_LARGE_BLOCK: Final = Quantity("1Gi")
_MIN_GUEST: Final = Quantity("1Gi")
_RULE: Final = "impossible-combination"


def check_memory_hotplug(domain: DomainSpec, memory: Memory, most: Quantity, at: str) -> Iterator[FieldError]:
    """Check that the guest can grow to its maximum memory; `at` is the path of the domain."""
    cpu, field = domain.cpu, f"{at}.memory.maxGuest"
    if cpu is not None and cpu.realtime is not None:
        yield FieldError(field, f"Memory hotplug is not compatible with realtime VMs: remove {field}", rule=_RULE)
    if cpu is not None and cpu.numa is not None and cpu.numa.guest_mapping_passthrough is not None:
        message = f"Memory hotplug is not compatible with guest mapping passthrough: remove {field}"
        yield FieldError(field, message, rule=_RULE)
    if domain.launch_security is not None:
        yield FieldError(field, f"Memory hotplug is not compatible with encrypted VMs: remove {field}", rule=_RULE)
    if memory.guest is not None:
        yield from _check_sizes(memory, memory.guest, most, at)


def _check_sizes(memory: Memory, guest: Quantity, most: Quantity, at: str) -> Iterator[FieldError]:
    at_guest, at_most = f"{at}.memory.guest", f"{at}.memory.maxGuest"
    if guest.amount > most.amount:
        reason = f"Guest memory is greater than the configured maxGuest memory: {guest} > {most}"
        yield FieldError(at_guest, reason, rule=_RULE)
        return
    block = _LARGE_BLOCK if memory.hugepages is not None and memory.hugepages.page_size == "1Gi" else _BLOCK
    for name, size, field in (("Guest memory", guest, at_guest), ("MaxGuest", most, at_most)):
        if size.value() % block.value():
            yield FieldError(
                field, f"{name} must be {block} aligned to grow: {size} is not a multiple of it", rule=_RULE
            )
    if guest.amount < _MIN_GUEST.amount:
        reason = f"Memory hotplug is only available for VMs with at least {_MIN_GUEST} of guest memory"
        yield FieldError(at_guest, f"{reason}, not {guest}: remove {at_most}", rule=_RULE)
