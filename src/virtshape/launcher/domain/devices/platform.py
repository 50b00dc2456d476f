"""
What the guest's own system works with: TPM, random numbers, watchdog, panic devices, balloon, vsock.

Structs only.
"""

from msgspec import Struct


class Tpm(Struct, frozen=True):
    """An emulated TPM 2.0."""

    model: str
    persistent: bool = False


class Rng(Struct, frozen=True):
    """Random numbers from the host."""

    model: str
    iommu: bool = False


class Watchdog(Struct, frozen=True):
    """A timer that the guest must keep resetting."""

    name: str
    model: str
    action: str


class Panic(Struct, frozen=True):
    """A device that reports the guest's crash."""

    model: str


class Balloon(Struct, frozen=True, kw_only=True):
    """The memory balloon; the model `none` keeps libvirt from adding one."""

    model: str
    stats_period: int | None = None
    """Seconds between two reports of the guest's memory use."""
    free_page_reporting: bool = False
    iommu: bool = False


class Vsock(Struct, frozen=True):
    """Sockets between host and guest without a network."""

    model: str
    cid: int | None = None
    """The guest's address; the host chooses one when it is None."""
