"""Design the hypervisor features of a guest."""

from typing import Final

from virtshape.api.kubevirt.features import Features as AskedFeatures
from virtshape.launcher.design.context import DesignContext, is_on, read_switch
from virtshape.launcher.design.hyperv import design_hyperv
from virtshape.launcher.design.machinetype import is_q35
from virtshape.launcher.domain.features import Apic, Features, Kvm

_FEATURES: Final = "spec.domain.features"


def design_features(context: DesignContext, machine: str) -> Features:
    """Return the requested features; ACPI is on by default."""
    asked, amd64 = context.spec.domain.features or AskedFeatures(), context.host.architecture == "amd64"
    if not amd64:
        _refuse_unless_amd64(context, asked)
    return Features(
        acpi=context.host.architecture != "s390x" and read_switch(asked.acpi) is not False,
        apic=_design_apic(context, asked) if amd64 else None,
        hyperv=design_hyperv(context, asked),
        kvm=_design_kvm(context, asked),
        pvspinlock=_design_pvspinlock(context, asked) if amd64 else None,
        pmu=False if _wants_no_pmu(context) else None,
        vmport=False if amd64 else None,
        smm=_design_smm(context, asked, machine) if amd64 else None,
    )


def _refuse_unless_amd64(context: DesignContext, asked: AskedFeatures) -> None:
    for name in ("apic", "pvspinlock", "smm"):
        if is_on(getattr(asked, name)):
            context.refuse(f"{_FEATURES}.{name}", "is supported only for amd64 guests")


def _design_apic(context: DesignContext, asked: AskedFeatures) -> Apic | None:
    if asked.apic is None:
        return None
    if not is_on(asked.apic):
        context.note(f"{_FEATURES}.apic", "QEMU's machines always have an APIC")
        return None
    if asked.apic.end_of_interrupt and not context.host.kvm:
        context.note(f"{_FEATURES}.apic.endOfInterrupt", "has no effect without KVM")
    return Apic(end_of_interrupt=asked.apic.end_of_interrupt)


def _design_kvm(context: DesignContext, asked: AskedFeatures) -> Kvm | None:
    """Return the KVM features; guests with dedicated CPUs get `hint-dedicated`."""
    cpu = context.spec.domain.cpu
    dedicated = bool(cpu is not None and cpu.dedicated_cpu_placement)
    hint = True if dedicated and context.host.kvm and context.host.architecture == "amd64" else None
    if asked.kvm is None:
        return Kvm(hint_dedicated=hint) if hint else None
    return Kvm(hidden=bool(asked.kvm.hidden), hint_dedicated=hint)


def _design_pvspinlock(context: DesignContext, asked: AskedFeatures) -> bool | None:
    if is_on(asked.pvspinlock) and not context.host.kvm:
        context.refuse(f"{_FEATURES}.pvspinlock", "needs KVM, which is not available on this host")
    return read_switch(asked.pvspinlock)


def _design_smm(context: DesignContext, asked: AskedFeatures, machine: str) -> bool | None:
    if is_on(asked.smm) and not is_q35(machine):
        context.refuse(f"{_FEATURES}.smm", f"the machine type {machine} does not support it: use q35")
    return read_switch(asked.smm)


def _wants_no_pmu(context: DesignContext) -> bool:
    """Return True if a guest must have no PMU: a PMU interrupts realtime guests, and TDX guests cannot have one."""
    cpu, security = context.spec.domain.cpu, context.spec.domain.launch_security
    realtime = cpu is not None and cpu.realtime is not None
    return realtime or (security is not None and security.tdx is not None)
