"""Calculate waste (the shares of vCPUs and memory that a VM does not need), and the size for a measured usage."""

from decimal import ROUND_CEILING, Decimal
from typing import Final, NamedTuple

from virtshape.api.quantity import Quantity

_MIB: Final = 1 << 20


class Waste(NamedTuple):
    """The unneeded shares of the vCPUs and of the memory, from 0 to 1; None if the need is unknown."""

    cpu: Decimal | None = None
    memory: Decimal | None = None

    @property
    def total(self) -> Decimal:
        """The sum of both shares, for comparing sizes."""
        return (self.cpu or Decimal(0)) + (self.memory or Decimal(0))


class Needed(NamedTuple):
    """The vCPUs and memory that a VM needs; 0 if unknown."""

    vcpus: int
    memory: Quantity


def measure_waste(vcpus: int, memory: Quantity, needed: Needed) -> Waste:
    """Return the shares of these vCPUs and this memory that are not needed."""
    return Waste(
        _measure_share(Decimal(vcpus), Decimal(needed.vcpus)),
        _measure_share(memory.bounded_amount, needed.memory.bounded_amount),
    )


def _measure_share(given: Decimal, needed: Decimal) -> Decimal | None:
    if not needed or not given:
        return None
    return max(Decimal(0), 1 - needed / given)


def size_for_usage(cpu: Quantity | None, memory: Quantity | None, headroom: Decimal) -> Needed:
    """Return the vCPUs, and the memory in whole MiB, for measured usage plus `headroom`, a fraction of the usage."""
    factor = 1 + headroom
    vcpus = int((cpu.bounded_amount * factor).to_integral_value(ROUND_CEILING)) if cpu is not None else 0
    mebibytes = (
        int((memory.bounded_amount * factor / _MIB).to_integral_value(ROUND_CEILING)) if memory is not None else 0
    )
    return Needed(vcpus, Quantity.of(mebibytes * _MIB, "BinarySI"))
