"""
Switches of an instance whose mere presence means on.

Pure: no I/O, no clock, no logging.
"""

from typing import Protocol


class Switch(Protocol):
    """Something that can be enabled."""

    @property
    def enabled(self) -> bool | None:
        """Whether it is; absent means yes."""


def read_switch(switch: Switch | None) -> bool | None:
    """Whether it is on or off; None where nobody says."""
    return None if switch is None else switch.enabled is not False


def is_on(switch: Switch | None) -> bool:
    """Whether it is there and not turned off."""
    return read_switch(switch) is True
