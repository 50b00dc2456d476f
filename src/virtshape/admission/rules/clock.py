"""Validate clock and timers: one offset, and supported tick policies."""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import check_value
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.features import Clock

TICK_POLICIES: Final = {
    "hpet": ("delay", "catchup", "merge", "discard"),
    "pit": ("delay", "catchup", "discard"),
    "rtc": ("delay", "catchup"),
}


def check_clock(clock: Clock, at: str) -> Iterator[FieldError]:
    """Check the offset and the timers of a clock; `at` is the field path of the clock."""
    if clock.utc is not None and clock.timezone is not None:
        message = f"{at} must have only one of utc and timezone set: keep one of them"
        yield FieldError(f"{at}.timezone", message, rule="one-of")
    if clock.timer is None:
        return
    for name, policies in TICK_POLICIES.items():
        timer = getattr(clock.timer, name)
        if timer is not None:
            yield from check_value(f"{at}.timer.{name}", "tickPolicy", timer.tick_policy, policies)
