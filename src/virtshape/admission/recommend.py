"""
Recommend instance types for given needs, those with the least waste first, and explain why other types do not fit.

Instance types that leave a size to the VM are included only on request, with the smallest sufficient size they allow.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from virtshape.admission.compatibility import check_compatibility
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import CPUInstancetype, MemoryInstancetype, VirtualMachineInstancetypeSpec
from virtshape.api.quantity import Quantity
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE
from virtshape.engine.memory import is_open
from virtshape.engine.sizingpolicy import read_policy
from virtshape.engine.suggestions import count_traits
from virtshape.engine.topology import count_vcpus
from virtshape.engine.waste import Needed, Waste, measure_waste

NOTHING: Final = Quantity("0")


class Offer(NamedTuple):
    """An instance type with its kind and name."""

    kind: str
    name: str
    spec: VirtualMachineInstancetypeSpec
    is_custom: bool = False
    """True if the instance type leaves a size to the VM; the spec then has the size that the VM should set."""

    @property
    def vcpus(self) -> int:
        """Number of vCPUs; 0 if the VM chooses the number."""
        return count_vcpus(self.spec.cpu)

    @property
    def memory(self) -> Quantity:
        """Guest memory; 0 if the VM chooses the size."""
        return (self.spec.memory.guest if self.spec.memory else None) or NOTHING

    @property
    def is_dedicated(self) -> bool:
        """Return True if vCPUs are pinned to dedicated CPUs."""
        return bool(self.spec.cpu and self.spec.cpu.dedicated_cpu_placement)

    @property
    def hugepages(self) -> str | None:
        """The huge page size, which may be empty, or None if the instance type has no huge pages."""
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
    """The architecture to assume for VMs that do not set one; it is compared with the preference's requirement."""
    max_waste: Decimal | None = None
    """Maximum share of the vCPUs, and of the memory, that the VM may leave unused; None means any share."""


class Miss(NamedTuple):
    """An instance type that does not fit, and the reasons."""

    offer: Offer
    reasons: list[str]


class Recommendation(NamedTuple):
    """The instance types that fit, those with the least waste first, and all others, the closest first."""

    fitting: list[Offer]
    missing: list[Miss]


class WastePercent(Struct):
    """The shares of an instance type's vCPUs and memory that are not needed, in percent."""

    cpu: float | None
    """The share of the vCPUs; null if the request has no minimum number of vCPUs."""
    memory: float | None
    """The share of the memory; null if the request has no minimum amount of memory."""


class RecommendedInstancetype(Struct):
    """An instance type that meets the requested needs, in the format of `virtctl recommend -o json` and of the API."""

    kind: str
    """The kind of the instance type."""
    name: str
    """The name of the instance type."""
    vcpus: int
    """The number of vCPUs."""
    memory: str
    """The guest memory."""
    custom: bool
    """True if the instance type leaves a size open, which the VM must then set."""
    dedicated: bool
    """True if the vCPUs are pinned to dedicated CPUs."""
    hugepages: str | None
    """The size of the huge pages; null without huge pages."""
    gpus: int
    """The number of GPUs."""
    waste: WastePercent
    """The unneeded shares of the vCPUs and of the memory, in percent."""
    reason: str
    """How much of the size is needed, and the special settings of the instance type."""


def recommend(offers: Iterable[Offer], need: Need, *, with_custom: bool = False) -> Recommendation:
    """
    Return the instance types that fit, and those that do not; if waste is equal, smaller and simpler types come first.

    Instance types that leave a size to the VM are skipped, unless `with_custom` is set and a size can be chosen.
    """
    fitting, missing = [], []
    for offer in (_choose_size(offer, need) for offer in offers) if with_custom else offers:
        if offer.vcpus and offer.memory.amount > 0:
            reasons = list(_find_reasons(offer, need))
            if reasons:
                missing.append(Miss(offer, reasons))
            else:
                fitting.append(offer)
    missing.sort(key=lambda miss: (len(miss.reasons), _measure_distance(miss.offer, need), _size(miss.offer)))
    fitting.sort(key=lambda offer: (find_waste(offer, need).total, _size(offer)))
    return Recommendation(fitting, missing)


def find_waste(offer: Offer, need: Need) -> Waste:
    """Return the shares of the instance type's vCPUs and memory that are not needed."""
    return measure_waste(offer.vcpus, offer.memory, get_minimum(need))


def explain_fit(offer: Offer, need: Need) -> str:
    """Return the reason for a recommendation: how much of the size is needed, and the special settings."""
    least, parts = get_minimum(need), []
    if least.vcpus:
        parts.append(f"{least.vcpus} of {_count(offer.vcpus, 'vCPU')} needed")
    if least.memory.amount:
        parts.append(f"{least.memory} of {offer.memory} needed")
    parts += list(_list_settings(offer))
    return "; ".join(parts)


def _list_settings(offer: Offer) -> Iterator[str]:
    if offer.is_dedicated:
        yield "dedicated CPUs"
    if offer.hugepages is not None:
        yield f"hugepages {offer.hugepages}".rstrip()
    if offer.gpus:
        yield _count(offer.gpus, "GPU")
    overcommit = offer.spec.memory.overcommit_percent if offer.spec.memory else None
    if overcommit:
        yield f"{overcommit}% of the memory overcommitted"


def _choose_size(offer: Offer, need: Need) -> Offer:
    """Set the sizes that the offer leaves to the VM: the smallest sizes that meet the need, or the closest sizes."""
    spec = offer.spec
    is_memory_open, (vcpus, memory) = is_open(spec.memory), get_minimum(need)
    if offer.vcpus and not is_memory_open:
        return offer
    if is_memory_open and not memory.amount and not (spec.memory and spec.memory.limits):
        return offer  # no memory size can be chosen, because neither the need nor a limit specifies one
    policy = read_policy(spec)
    size = policy.find_size(vcpus, memory) or policy.find_nearest_size(vcpus, memory)
    if size is None:
        return offer
    cpu, sized = spec.cpu or CPUInstancetype(), spec.memory or MemoryInstancetype()
    if not offer.vcpus:
        cpu = replace(cpu, guest=size.vcpus)
    if is_memory_open:
        sized = replace(sized, guest=size.memory)
    return offer._replace(spec=replace(spec, cpu=cpu, memory=sized), is_custom=True)


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
    if need.max_waste is not None:
        yield from _find_excess(find_waste(offer, need), need.max_waste)
    if need.preference is not None:
        unmet = check_compatibility(offer.spec, need.preference, need.architecture)
        yield from (conflict.message for conflict in unmet)


def _find_excess(waste: Waste, most: Decimal) -> Iterator[str]:
    for share, what in ((waste.cpu, "vCPUs"), (waste.memory, "memory")):
        if share is not None and share > most:
            yield f"{format_percent(share)} of the {what} not needed, at most {format_percent(most)} allowed"


def format_percent(share: Decimal) -> str:
    """Return a share as a rounded percentage; a share above 0 is at least 1%."""
    percent = round(share * 100)
    return f"{max(percent, 1) if share else 0}%"


def get_minimum(need: Need) -> Needed:
    """Return the vCPUs and memory that the need and the requirements of its preference ask for; 0 means any size."""
    required = need.preference.requirements if need.preference else None
    vcpus, memory = need.cpu_min or 0, need.memory_min or NOTHING
    if required is not None and required.cpu is not None:
        vcpus = max(vcpus, required.cpu.guest)
    if required is not None and required.memory is not None:
        memory = max(memory, required.memory.guest, key=lambda each: each.amount)
    return Needed(vcpus, memory)


def _measure_distance(offer: Offer, need: Need) -> Decimal:
    """Return how far an instance type is from the need: the sum of two ratios (vCPUs, memory) and the missing GPUs."""
    least = get_minimum(need)
    most_vcpus = Decimal(need.cpu_max) if need.cpu_max is not None else None
    most_memory = need.memory_max.bounded_amount if need.memory_max is not None else None
    return (
        _exceed(Decimal(offer.vcpus), Decimal(least.vcpus), most_vcpus)
        + _exceed(offer.memory.bounded_amount, least.memory.bounded_amount, most_memory)
        + max(need.gpus - offer.gpus, 0)
    )


def _exceed(given: Decimal, least: Decimal, most: Decimal | None) -> Decimal:
    if given < least:
        return least / given
    return given / most if most and given > most else Decimal(1)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def describe_offer(offer: Offer, need: Need) -> RecommendedInstancetype:
    """Return an instance type in the format of the API, with its waste in percent."""
    waste = find_waste(offer, need)
    return RecommendedInstancetype(
        offer.kind,
        offer.name,
        offer.vcpus,
        str(offer.memory),
        offer.is_custom,
        offer.is_dedicated,
        offer.hugepages,
        offer.gpus,
        WastePercent(_to_percent(waste.cpu), _to_percent(waste.memory)),
        explain_fit(offer, need),
    )


def _to_percent(share: Decimal | None) -> float | None:
    return None if share is None else round(float(share) * 100, 1)
