"""Hardware clock and timers of a domain: structs and their XML."""

from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add, yes_no


class Timer(Struct, frozen=True, kw_only=True):
    """A timer; if `present` is None, libvirt decides whether the guest has it."""

    name: Literal["rtc", "pit", "kvmclock", "hpet", "hypervclock", "tsc"]
    present: bool | None = None
    tick_policy: str | None = None
    track: str | None = None
    frequency: int | None = None


class Clock(Struct, frozen=True, kw_only=True):
    """The hardware clock."""

    offset: Literal["utc", "timezone"] = "utc"
    adjustment: int | Literal["reset"] | None = None
    """Offset from UTC in seconds, which the guest may change, or `reset` for UTC at every boot."""
    timezone: str | None = None
    timers: tuple[Timer, ...] = ()


def render_clock(domain: Element, clock: Clock) -> None:
    """Append the XML element `clock`."""
    settings = {"offset": clock.offset, "adjustment": clock.adjustment, "timezone": clock.timezone}
    element = add(domain, "clock", settings)
    for timer in clock.timers:
        add(
            element,
            "timer",
            {
                "name": timer.name,
                "frequency": timer.frequency,
                "tickpolicy": timer.tick_policy,
                "track": timer.track,
                "present": yes_no(timer.present),
            },
        )
