"""
The guest's clock: offset and timers, as a preference asks and the VM does not say.

Pure: no I/O, no clock, no logging.
"""

from virtshape.api.instancetype.preference import ClockPreferences
from virtshape.api.kubevirt.features import Clock
from virtshape.engine.draft import Draft


def apply_clock_preferences(draft: Draft, preferred: ClockPreferences) -> None:
    """Fill in what the VM leaves open: the offset as a whole, the timers as a whole."""
    domain = draft.spec.domain
    if domain.clock is None:
        draft.put(domain, "clock", Clock())
    clock = domain.clock
    assert clock is not None
    offset = preferred.preferred_clock_offset
    if offset is not None and clock.utc is None and clock.timezone is None:
        draft.offer(clock, "utc", offset.utc)
        draft.offer(clock, "timezone", offset.timezone)
    draft.offer(clock, "timer", preferred.preferred_timer)
