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
    """A random number generator."""

    model: str
    iommu: bool = False


class Watchdog(Struct, frozen=True):
    """A watchdog timer."""

    name: str
    model: str
    action: str


class Panic(Struct, frozen=True):
    """A panic device, which reports guest crashes."""

    model: str


class Balloon(Struct, frozen=True, kw_only=True):
    """The memory balloon; the model `none` prevents libvirt from adding one."""

    model: str
    stats_period: int | None = None
    """Interval of memory statistics in seconds."""
    free_page_reporting: bool = False
    iommu: bool = False


class Vsock(Struct, frozen=True):
    """A vsock device."""

    model: str
    cid: int | None = None
    """Context ID of the guest; chosen by the host when None."""


def render_tpm(parent: Element, tpm: Tpm) -> None:
    """Append the XML element for the TPM."""
    element = add(parent, "tpm", {"model": tpm.model})
    persistent = "yes" if tpm.persistent else None
    add(element, "backend", {"type": "emulator", "version": "2.0", "persistent_state": persistent})


def render_rng(parent: Element, rng: Rng) -> None:
    """Append the XML element for the random number generator."""
    element = add(parent, "rng", {"model": rng.model})
    add(element, "backend", {"model": "random"}, text="/dev/urandom")
    add_driver(element, {}, iommu=rng.iommu)


def render_watchdog(parent: Element, watchdog: Watchdog) -> None:
    """Append the XML element for the watchdog."""
    add_alias(add(parent, "watchdog", {"model": watchdog.model, "action": watchdog.action}), watchdog.name)


def render_panic(parent: Element, panic: Panic) -> None:
    """Append the XML element for a panic device."""
    add(parent, "panic", {"model": panic.model})


def render_balloon(parent: Element, balloon: Balloon) -> None:
    """Append the XML element for the memory balloon."""
    reporting = "on" if balloon.free_page_reporting else None
    element = add(parent, "memballoon", {"model": balloon.model, "freePageReporting": reporting})
    if balloon.stats_period is not None:
        add(element, "stats", {"period": balloon.stats_period})
    add_driver(element, {}, iommu=balloon.iommu)


def render_vsock(parent: Element, vsock: Vsock) -> None:
    """Append the XML element for the vsock device."""
    element = add(parent, "vsock", {"model": vsock.model})
    add(element, "cid", {"auto": "yes" if vsock.cid is None else "no", "address": vsock.cid})
