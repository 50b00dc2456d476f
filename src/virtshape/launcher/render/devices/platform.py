"""
TPM, random numbers, watchdog, panic devices, balloon and vsock as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.devices.platform import Balloon, Panic, Rng, Tpm, Vsock, Watchdog
from virtshape.launcher.render.devices.address import add_alias
from virtshape.launcher.render.devices.driver import add_driver
from virtshape.launcher.render.writing import add


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
