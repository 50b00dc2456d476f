"""
TPM, random numbers, watchdog, panic devices, balloon and vsock.

Pure: no I/O, no clock, no logging.
"""

from typing import Final

from virtshape.launcher.design.devices.brief import DEVICES, Brief
from virtshape.launcher.domain.devices.platform import Balloon, Panic, Rng, Tpm, Vsock, Watchdog

_STATS_PERIOD: Final = 10
_PANIC_MODELS: Final = {"amd64": "isa", "arm64": "pvpanic", "s390x": "s390"}
_PVPANIC_LIBVIRT: Final = 9_001_000


def design_tpm(brief: Brief) -> Tpm | None:
    """A TPM, of the newer interface where its keys are to last."""
    tpm = brief.devices.tpm
    if tpm is None or tpm.enabled is False:
        return None
    if not brief.host.tpm:
        brief.refuse(f"{DEVICES}.tpm", "this host cannot emulate a TPM: install swtpm")
    return Tpm("tpm-crb" if tpm.persistent else "tpm-tis", bool(tpm.persistent))


def design_rng(brief: Brief) -> Rng | None:
    """Random numbers, if they are asked for."""
    return Rng(brief.virtio, brief.iommu) if brief.devices.rng is not None else None


def design_watchdog(brief: Brief) -> Watchdog | None:
    """The watchdog that is asked for; each model belongs to one architecture."""
    watchdog = brief.devices.watchdog
    if watchdog is None:
        return None
    for model, asked, architecture in (
        ("i6300esb", watchdog.i6300esb, "amd64"),
        ("diag288", watchdog.diag288, "s390x"),
    ):
        if asked is not None:
            if brief.architecture != architecture:
                words = f"only {architecture} guests have one, and this one is {brief.architecture}"
                brief.refuse(f"{DEVICES}.watchdog.{model}", words)
            return Watchdog(watchdog.name, model, asked.action or "reset")
    brief.refuse(f"{DEVICES}.watchdog", "it has no model: add i6300esb")
    return None


def design_panics(brief: Brief) -> tuple[Panic, ...]:
    """The panic devices that are asked for, of the architecture's own model where none is named."""
    panics = []
    for index, panic in enumerate(brief.devices.panic_devices or ()):
        model = panic.model or _PANIC_MODELS.get(brief.architecture, "isa")
        if model == "pvpanic" and brief.host.libvirt < _PVPANIC_LIBVIRT:
            words = "pvpanic needs libvirt 9.1" + (": use isa" if brief.architecture == "amd64" else "")
            brief.refuse(f"{DEVICES}.panicDevices[{index}].model", words)
        panics.append(Panic(model))
    return tuple(panics)


def design_balloon(brief: Brief) -> Balloon:
    """A balloon that gives back what the guest frees, except where its memory is set aside for it anyway."""
    if brief.devices.autoattach_mem_balloon is False:
        return Balloon(model="none")
    cpu, memory = brief.spec.domain.cpu, brief.spec.domain.memory
    reserved = (cpu is not None and cpu.dedicated_cpu_placement) or (
        memory is not None and memory.hugepages is not None
    )
    return Balloon(model=brief.virtio, stats_period=_STATS_PERIOD, free_page_reporting=not reserved, iommu=brief.iommu)


def design_vsock(brief: Brief) -> Vsock | None:
    """A vsock device, if it is asked for."""
    if not brief.devices.autoattach_vsock:
        return None
    if not brief.host.vsock:
        brief.refuse(f"{DEVICES}.autoattachVSOCK", "this host has no vsock: load the kernel module vhost_vsock")
    status = brief.vmi.status
    model = "virtio" if brief.architecture == "s390x" else "virtio-non-transitional"
    return Vsock(model, status.vsock_cid if status is not None else None)
