"""Readiness and liveness checks of a guest: what to check, how often, and the thresholds."""

from typing import Literal

from msgspec import Struct


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A periodic check of a guest."""

    way: Literal["tcp", "http", "exec", "ping"]
    """TCP connection, HTTP request, command run by the guest agent, or ping of the guest agent."""
    port: int = 0
    host: str = ""
    """Host to connect to; empty for the guest."""
    path: str = "/"
    secure: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()
    delay: float = 0.0
    """Seconds from the guest's start to the first check."""
    period: float = 10.0
    timeout: float = 1.0
    successes: int = 1
    """Consecutive successes until the guest is healthy."""
    failures: int = 3
    """Consecutive failures until the guest is unhealthy."""


class Checks(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The checks of a guest."""

    readiness: Check | None = None
    """Check whether the guest is ready."""
    liveness: Check | None = None
    """Check whether the guest is alive; the guest is stopped if it is not."""


class Tally(Struct):
    """Counts results and changes its state when a threshold is reached."""

    check: Check
    well: bool
    against: int = 0

    def count(self, *, well: bool) -> None:
        """Count one result."""
        self.against = self.against + 1 if well != self.well else 0
        if self.against >= (self.check.successes if well else self.check.failures):
            self.well, self.against = well, 0
