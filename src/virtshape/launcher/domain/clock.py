"""
What time a domain's hardware clock shows, and which timers it has.

Structs only.
"""

from typing import Literal

from msgspec import Struct


class Timer(Struct, frozen=True, kw_only=True):
    """One timer, given or denied."""

    name: Literal["rtc", "pit", "kvmclock", "hpet", "hypervclock", "tsc"]
    present: bool | None = None
    tick_policy: str | None = None
    track: str | None = None
    frequency: int | None = None


class Clock(Struct, frozen=True, kw_only=True):
    """The hardware clock."""

    offset: Literal["utc", "timezone"] = "utc"
    adjustment: int | Literal["reset"] | None = None
    """Seconds beside UTC that the guest may change, or `reset` for UTC at every boot."""
    timezone: str | None = None
    timers: tuple[Timer, ...] = ()
