"""TPM, RNG, watchdog, panic, balloon and vsock devices of a domain: structs and their XML."""

from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.devices.address import add_alias, add_driver
from virtshape.launcher.domain.xml import add


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


def render_tpm(parent: Element, tpm: Tpm) -> None:
    """Write the TPM."""
    element = add(parent, "tpm", {"model": tpm.model})
    lasting = "yes" if tpm.persistent else None
    add(element, "backend", {"type": "emulator", "version": "2.0", "persistent_state": lasting})


def render_rng(parent: Element, rng: Rng) -> None:
    """Write the source of random numbers."""
    element = add(parent, "rng", {"model": rng.model})
    add(element, "backend", {"model": "random"}, text="/dev/urandom")
    add_driver(element, {}, iommu=rng.iommu)


def render_watchdog(parent: Element, watchdog: Watchdog) -> None:
    """Write the watchdog."""
    add_alias(add(parent, "watchdog", {"model": watchdog.model, "action": watchdog.action}), watchdog.name)


def render_panic(parent: Element, panic: Panic) -> None:
    """Write one panic device."""
    add(parent, "panic", {"model": panic.model})


def render_balloon(parent: Element, balloon: Balloon) -> None:
    """Write the memory balloon."""
    reporting = "on" if balloon.free_page_reporting else None
    element = add(parent, "memballoon", {"model": balloon.model, "freePageReporting": reporting})
    if balloon.stats_period is not None:
        add(element, "stats", {"period": balloon.stats_period})
    add_driver(element, {}, iommu=balloon.iommu)


def render_vsock(parent: Element, vsock: Vsock) -> None:
    """Write the vsock device."""
    element = add(parent, "vsock", {"model": vsock.model})
    add(element, "cid", {"auto": "yes" if vsock.cid is None else "no", "address": vsock.cid})
