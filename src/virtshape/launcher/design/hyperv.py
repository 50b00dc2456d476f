"""Design the Hyper-V enlightenments of a guest."""

from typing import Final

from virtshape.api.kubevirt.features import FeatureHyperv, Features
from virtshape.launcher.design.context import DesignContext, is_on, read_switch, read_text
from virtshape.launcher.domain.features import Enlightenment, Hyperv

_HYPERV: Final = "spec.domain.features.hyperv"
_MIN_RETRIES: Final = 4096
_NAMES: Final = {
    "relaxed": "relaxed",
    "vapic": "vapic",
    "spinlocks": "spinlocks",
    "vpindex": "vpindex",
    "runtime": "runtime",
    "synic": "synic",
    "synictimer": "stimer",
    "reset": "reset",
    "vendorid": "vendor_id",
    "frequencies": "frequencies",
    "reenlightenment": "reenlightenment",
    "tlbflush": "tlbflush",
    "ipi": "ipi",
    "evmcs": "evmcs",
}
"""libvirt's element names by field, in libvirt's order."""

# Enlightenments that need KVM. Without KVM, QEMU accepts all other enlightenments but ignores them.
_NEED_KVM: Final = frozenset({"vpindex", "synic", "synictimer", "tlbflush", "ipi", "evmcs"})
_NEEDS: Final = {
    "synic": ("vpindex",),
    "synictimer": ("vpindex", "synic"),
    "tlbflush": ("vpindex",),
    "ipi": ("vpindex",),
    "evmcs": ("vapic",),
}


def design_hyperv(context: DesignContext, features: Features) -> Hyperv | None:
    """Return the requested enlightenments or, if requested, passthrough mode; None if neither is requested."""
    asked, everything = features.hyperv, features.hyperv_passthrough
    if asked is not None:
        return _design_each(context, asked)
    if not is_on(everything):
        return None
    if context.host.architecture != "amd64":
        context.refuse("spec.domain.features.hypervPassthrough", "is supported only for amd64 guests")
    elif not context.host.kvm:
        context.note("spec.domain.features.hypervPassthrough", "has no effect without KVM")
    return Hyperv(mode="passthrough")


def _design_each(context: DesignContext, asked: FeatureHyperv) -> Hyperv:
    named = {name: state for name in _NAMES if (state := getattr(asked, name)) is not None}
    on = [name for name, state in named.items() if is_on(state)]
    if on and context.host.architecture != "amd64":
        context.refuse(_HYPERV, "is supported only for amd64 guests")
    elif not context.host.kvm:
        _check_without_kvm(context, on)
    _check_needs(context, asked, on)
    _check_flushes(context, asked)
    return Hyperv(enlightenments=tuple(_design_one(context, asked, name) for name in named))


def _design_one(context: DesignContext, asked: FeatureHyperv, name: str) -> Enlightenment:
    on = is_on(getattr(asked, name))
    retries = value = direct = None
    if name == "spinlocks" and asked.spinlocks is not None and on:
        retries = asked.spinlocks.spinlocks or _MIN_RETRIES
        if retries < _MIN_RETRIES:
            context.refuse(f"{_HYPERV}.spinlocks.spinlocks", f"must be at least {_MIN_RETRIES}")
    if name == "vendorid" and asked.vendorid is not None and on:
        value = _design_vendor(context, asked.vendorid.vendorid)
    if name == "synictimer" and asked.synictimer is not None and on:
        direct = read_switch(asked.synictimer.direct)
    return Enlightenment(name=_NAMES[name], on=on, retries=retries, value=value, direct=direct)


def _design_vendor(context: DesignContext, vendor: str | None) -> str | None:
    field = f"{_HYPERV}.vendorid.vendorid"
    if not vendor or len(vendor) > 12 or "," in vendor:
        context.refuse(field, "must have 1 to 12 characters and no comma")
        return None
    return read_text(context, field, vendor)


def _check_without_kvm(context: DesignContext, on: list[str]) -> None:
    for name in on:
        if name in _NEED_KVM:
            context.refuse(f"{_HYPERV}.{name}", "needs KVM, which is not available on this host")
    idle = [name for name in on if name not in _NEED_KVM]
    if idle:
        context.note(_HYPERV, f"without KVM these have no effect: {', '.join(idle)}")


def _check_needs(context: DesignContext, asked: FeatureHyperv, on: list[str]) -> None:
    for need in _NAMES:
        relying = [name for name in on if need in _NEEDS.get(name, ())]
        if relying and not is_on(getattr(asked, need)):
            context.refuse(f"{_HYPERV}.{need}", f"is required by {', '.join(relying)}")
    clock = context.spec.domain.clock
    timer = clock.timer.hyperv if clock is not None and clock.timer is not None else None
    if "synictimer" in on and (timer is None or timer.present is False):
        context.refuse("spec.domain.clock.timer.hyperv", "is required by features.hyperv.synictimer")


def _check_flushes(context: DesignContext, asked: FeatureHyperv) -> None:
    flush = asked.tlbflush
    for name in ("direct", "extended"):
        if flush is not None and is_on(flush) and is_on(getattr(flush, name)):
            context.refuse(f"{_HYPERV}.tlbflush.{name}", "is not supported by the libvirt of this host")
