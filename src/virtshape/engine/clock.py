"""
The guest's clock: offset and timers, as a preference asks and the VM does not say.

Pure: no I/O, no clock, no logging.
"""

from virtshape.api.instancetype.preference import ClockPreferences
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.features import Clock


def apply_clock_preferences(domain: DomainSpec, preferred: ClockPreferences) -> None:
    """Fill in what the VM leaves open: the offset as a whole, the timers as a whole."""
    clock = domain.clock = domain.clock or Clock()
    offset = preferred.preferred_clock_offset
    if offset is not None and clock.utc is None and clock.timezone is None:
        clock.utc, clock.timezone = offset.utc, offset.timezone
    clock.timer = clock.timer or preferred.preferred_timer
