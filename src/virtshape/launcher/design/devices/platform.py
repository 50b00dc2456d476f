"""Design the TPM, RNG, watchdog, panic, balloon and vsock devices."""

from typing import Final

from virtshape.launcher.design.context import DEVICES, DesignContext
from virtshape.launcher.domain.devices.platform import Balloon, Panic, Rng, Tpm, Vsock, Watchdog

_STATS_PERIOD: Final = 10
_PANIC_MODELS: Final = {"amd64": "isa", "arm64": "pvpanic", "s390x": "s390"}
_PVPANIC_LIBVIRT: Final = 9_001_000


def design_tpm(context: DesignContext) -> Tpm | None:
    """Return the TPM, if requested; a persistent one has the CRB interface."""
    tpm = context.devices.tpm
    if tpm is None or tpm.enabled is False:
        return None
    if not context.host.tpm:
        context.refuse(f"{DEVICES}.tpm", "this host cannot emulate a TPM: install swtpm")
    return Tpm("tpm-crb" if tpm.persistent else "tpm-tis", bool(tpm.persistent))


def design_rng(context: DesignContext) -> Rng | None:
    """Return the random number generator, if requested."""
    return Rng(context.virtio, context.iommu) if context.devices.rng is not None else None


def design_watchdog(context: DesignContext) -> Watchdog | None:
    """Return the requested watchdog; each model is available on one architecture only."""
    watchdog = context.devices.watchdog
    if watchdog is None:
        return None
    for model, asked, architecture in (
        ("i6300esb", watchdog.i6300esb, "amd64"),
        ("diag288", watchdog.diag288, "s390x"),
    ):
        if asked is not None:
            if context.architecture != architecture:
                reason = f"is supported only for {architecture} guests, not {context.architecture}"
                context.refuse(f"{DEVICES}.watchdog.{model}", reason)
            return Watchdog(watchdog.name, model, asked.action or "reset")
    context.refuse(f"{DEVICES}.watchdog", "has no model: add i6300esb")
    return None


def design_panics(context: DesignContext) -> tuple[Panic, ...]:
    """Return the requested panic devices; the default model depends on the architecture."""
    panics = []
    for index, panic in enumerate(context.devices.panic_devices or ()):
        model = panic.model or _PANIC_MODELS.get(context.architecture, "isa")
        if model == "pvpanic" and context.host.libvirt < _PVPANIC_LIBVIRT:
            reason = "pvpanic needs libvirt 9.1" + (": use isa" if context.architecture == "amd64" else "")
            context.refuse(f"{DEVICES}.panicDevices[{index}].model", reason)
        panics.append(Panic(model))
    return tuple(panics)


def design_balloon(context: DesignContext) -> Balloon:
    """Return the memory balloon, which reports free pages unless the guest's memory is reserved."""
    if context.devices.autoattach_mem_balloon is False:
        return Balloon(model="none")
    cpu, memory = context.spec.domain.cpu, context.spec.domain.memory
    reserved = (cpu is not None and cpu.dedicated_cpu_placement) or (
        memory is not None and memory.hugepages is not None
    )
    return Balloon(
        model=context.virtio, stats_period=_STATS_PERIOD, free_page_reporting=not reserved, iommu=context.iommu
    )


def design_vsock(context: DesignContext) -> Vsock | None:
    """Return the vsock device, if requested."""
    if not context.devices.autoattach_vsock:
        return None
    if not context.host.vsock:
        context.refuse(f"{DEVICES}.autoattachVSOCK", "this host has no vsock: load the kernel module vhost_vsock")
    status = context.vmi.status
    model = "virtio" if context.architecture == "s390x" else "virtio-non-transitional"
    return Vsock(model, status.vsock_cid if status is not None else None)
