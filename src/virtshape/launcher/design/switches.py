"""Feature states whose presence means enabled."""

from typing import Protocol


class Switch(Protocol):
    """A feature state."""

    @property
    def enabled(self) -> bool | None:
        """Whether it is enabled; None means yes."""


def read_switch(switch: Switch | None) -> bool | None:
    """Return whether it is enabled; None if it is not set."""
    return None if switch is None else switch.enabled is not False


def is_on(switch: Switch | None) -> bool:
    """Return True if it is set and not disabled."""
    return read_switch(switch) is True
