"""Design the hardware clock and timers of a guest."""

from typing import Final

from virtshape.api.kubevirt.features import Clock as AskedClock
from virtshape.api.kubevirt.features import Timer as AskedTimers
from virtshape.launcher.design.context import DesignContext, is_on
from virtshape.launcher.domain.clock import Clock, Timer

_CLOCK: Final = "spec.domain.clock"
_TICK_POLICIES: Final = {
    "rtc": ("delay", "catchup"),
    "pit": ("delay", "catchup", "discard"),
    "hpet": ("delay", "catchup", "merge", "discard"),
}
_TRACKS: Final = ("guest", "wall")


def design_clock(context: DesignContext) -> Clock:
    """Return the hardware clock, which is set to UTC by default."""
    asked = context.spec.domain.clock or AskedClock()
    timers = (*_design_timers(context, asked.timer or AskedTimers()), *_design_tsc(context))
    if asked.utc is not None:
        seconds = asked.utc.offset_seconds
        return Clock(adjustment="reset" if seconds is None else seconds, timers=timers)
    if asked.timezone is not None:
        return Clock(offset="timezone", timezone=asked.timezone, timers=timers)
    return Clock(timers=timers)


def _design_timers(context: DesignContext, asked: AskedTimers) -> list[Timer]:
    timers = []
    if asked.rtc is not None:
        policy = _check_policy(context, "rtc", asked.rtc.tick_policy)
        track = _check_track(context, asked.rtc.track)
        timers.append(Timer(name="rtc", present=asked.rtc.present is not False, tick_policy=policy, track=track))
    if asked.pit is not None:
        policy = _check_policy(context, "pit", asked.pit.tick_policy)
        timers.append(Timer(name="pit", present=asked.pit.present is not False, tick_policy=policy))
    if asked.kvm is not None:
        timers.append(Timer(name="kvmclock", present=asked.kvm.present is not False))
    if asked.hpet is not None:
        policy = _check_policy(context, "hpet", asked.hpet.tick_policy)
        timers.append(Timer(name="hpet", present=asked.hpet.present is not False, tick_policy=policy))
    if asked.hyperv is not None:
        timers.append(Timer(name="hypervclock", present=asked.hyperv.present is not False))
    _check_timers(context, asked)
    return timers


def _check_timers(context: DesignContext, asked: AskedTimers) -> None:
    for name in ("rtc", "pit", "kvm", "hpet", "hyperv"):
        timer = getattr(asked, name)
        if timer is None or timer.present is False:
            continue
        if context.host.architecture != "amd64":
            context.refuse(f"{_CLOCK}.timer.{name}", "is supported only for amd64 guests")
        elif name in ("kvm", "hyperv") and not context.host.kvm:
            context.note(f"{_CLOCK}.timer.{name}", "has no effect without KVM")


def _check_policy(context: DesignContext, timer: str, policy: str | None) -> str | None:
    field, known = f"{_CLOCK}.timer.{timer}.tickPolicy", _TICK_POLICIES[timer]
    if policy and policy not in known:
        context.refuse(field, f"unsupported value {policy}: use one of {', '.join(known)}")
        return None
    if timer == "hpet" and policy and policy != "delay":
        context.note(field, f"QEMU's HPET supports only delay, not {policy}")
    return policy or None


def _check_track(context: DesignContext, track: str | None) -> str | None:
    if track and track not in _TRACKS:
        context.refuse(f"{_CLOCK}.timer.rtc.track", f"unsupported value {track}: use one of {', '.join(_TRACKS)}")
        return None
    return track or None


def _design_tsc(context: DesignContext) -> list[Timer]:
    """Return a timer with the TSC frequency from the instance's topology hints, if the guest depends on the TSC."""
    status = context.vmi.status
    hints = status.topology_hints if status is not None else None
    frequency = hints.tsc_frequency if hints is not None else None
    if not frequency or not context.host.kvm or not _counts_on_tsc(context):
        return []
    return [Timer(name="tsc", frequency=frequency)]


def _counts_on_tsc(context: DesignContext) -> bool:
    cpu, features = context.spec.domain.cpu, context.spec.domain.features
    for feature in (cpu.features if cpu is not None else None) or ():
        if feature.name == "invtsc" and (feature.policy or "require") in ("require", "force"):
            return True
    hyperv = features.hyperv if features is not None else None
    return hyperv is not None and is_on(hyperv.reenlightenment)
