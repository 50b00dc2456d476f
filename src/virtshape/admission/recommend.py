"""
Recommend instance types for given needs, smallest first, and explain why others do not fit.

Instance types that leave a size to the VM are not candidates.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final, NamedTuple

from virtshape.admission.compatibility import check_compatibility
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.quantity import Quantity
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE
from virtshape.engine.nearest import count_traits
from virtshape.engine.topology import count_vcpus

NOTHING: Final = Quantity("0")


class Offer(NamedTuple):
    """An instance type with its kind and name."""

    kind: str
    name: str
    spec: VirtualMachineInstancetypeSpec

    @property
    def vcpus(self) -> int:
        """Number of vCPUs; 0 if the VM chooses it."""
        return count_vcpus(self.spec.cpu)

    @property
    def memory(self) -> Quantity:
        """Guest memory; 0 if the VM chooses it."""
        return (self.spec.memory.guest if self.spec.memory else None) or NOTHING

    @property
    def is_dedicated(self) -> bool:
        """Return True if vCPUs are pinned to dedicated CPUs."""
        return bool(self.spec.cpu and self.spec.cpu.dedicated_cpu_placement)

    @property
    def hugepages(self) -> str | None:
        """The huge page size, or None."""
        pages = self.spec.memory.hugepages if self.spec.memory else None
        return (pages.page_size or "") if pages else None

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return len(self.spec.gpus or ())


class Need(NamedTuple):
    """Requirements for an instance type; None means any value."""

    cpu_min: int | None = None
    cpu_max: int | None = None
    memory_min: Quantity | None = None
    memory_max: Quantity | None = None
    dedicated: bool | None = None
    hugepages: bool | None = None
    gpus: int = 0
    preference: VirtualMachinePreferenceSpec | None = None
    architecture: str = DEFAULT_ARCHITECTURE
    """Architecture of VMs that do not set one; used for preference requirements."""


class Miss(NamedTuple):
    """An instance type that does not fit, and the reasons."""

    offer: Offer
    reasons: list[str]


class Recommendation(NamedTuple):
    """Instance types that fit, smallest first, and the others, closest first."""

    fitting: list[Offer]
    missing: list[Miss]


def recommend(offers: Iterable[Offer], need: Need) -> Recommendation:
    """Sort instance types into fitting and others; of two with the same size, the one with fewer features is first."""
    fitting, missing = [], []
    for offer in offers:
        if offer.vcpus and offer.memory.amount > 0:
            reasons = list(_find_reasons(offer, need))
            if reasons:
                missing.append(Miss(offer, reasons))
            else:
                fitting.append(offer)
    missing.sort(key=lambda miss: (len(miss.reasons), _measure_distance(miss.offer, need), _size(miss.offer)))
    return Recommendation(sorted(fitting, key=_size), missing)


def _size(offer: Offer) -> tuple[int, Decimal, int, str, str]:
    return offer.vcpus, offer.memory.amount, count_traits(offer.spec), offer.name, offer.kind


def _find_reasons(offer: Offer, need: Need) -> Iterator[str]:
    vcpus, memory = _count(offer.vcpus, "vCPU"), f"{offer.memory} of memory"
    if need.cpu_min is not None and offer.vcpus < need.cpu_min:
        yield f"{vcpus}, at least {need.cpu_min} required"
    if need.cpu_max is not None and offer.vcpus > need.cpu_max:
        yield f"{vcpus}, at most {need.cpu_max} allowed"
    if need.memory_min is not None and offer.memory.amount < need.memory_min.amount:
        yield f"{memory}, at least {need.memory_min} required"
    if need.memory_max is not None and offer.memory.amount > need.memory_max.amount:
        yield f"{memory}, at most {need.memory_max} allowed"
    if need.dedicated is not None and offer.is_dedicated != need.dedicated:
        yield "no dedicated CPUs, which are required" if need.dedicated else "dedicated CPUs, which are excluded"
    if need.hugepages is not None and (offer.hugepages is not None) != need.hugepages:
        yield "no hugepages, which are required" if need.hugepages else "hugepages, which are excluded"
    if offer.gpus < need.gpus:
        wanted = "1 required" if need.gpus == 1 else f"{need.gpus} required"
        yield f"{_count(offer.gpus, 'GPU') if offer.gpus else 'no GPU'}, {wanted}"
    if need.preference is not None:
        unmet = check_compatibility(offer.spec, need.preference, need.architecture)
        yield from (conflict.message for conflict in unmet)


def _measure_distance(offer: Offer, need: Need) -> Decimal:
    """Return how far an instance type misses the need: factors for vCPUs and memory, plus the missing GPUs."""
    required = need.preference.requirements if need.preference else None
    least_vcpus = max(need.cpu_min or 0, required.cpu.guest if required and required.cpu else 0)
    most_vcpus = Decimal(need.cpu_max) if need.cpu_max is not None else None
    least_memory = (need.memory_min or NOTHING).amount
    if required is not None and required.memory is not None:
        least_memory = max(least_memory, required.memory.guest.amount)
    most_memory = need.memory_max.amount if need.memory_max is not None else None
    return (
        _exceed(Decimal(offer.vcpus), Decimal(least_vcpus), most_vcpus)
        + _exceed(offer.memory.amount, least_memory, most_memory)
        + max(need.gpus - offer.gpus, 0)
    )


def _exceed(given: Decimal, least: Decimal, most: Decimal | None) -> Decimal:
    if given < least:
        return least / given
    return given / most if most and given > most else Decimal(1)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
