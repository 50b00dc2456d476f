"""Guest clock: apply the preferred offset and timers that the VM does not set."""

from virtshape.api.instancetype.preference import ClockPreferences
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.features import Clock


def apply_clock_preferences(domain: DomainSpec, preferred: ClockPreferences) -> None:
    """Fill in the preferred offset if the VM sets no offset, and the preferred timers if it sets no timers."""
    clock = domain.clock = domain.clock or Clock()
    offset = preferred.preferred_clock_offset
    if offset is not None and clock.utc is None and clock.timezone is None:
        clock.utc, clock.timezone = offset.utc, offset.timezone
    clock.timer = clock.timer or preferred.preferred_timer
