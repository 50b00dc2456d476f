"""
How to find out whether a guest is well: one way to ask it, and how often.

Plain facts, and the counting of what comes of them; nobody is asked here.
"""

from typing import Literal

from msgspec import Struct


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question to a guest that is asked again and again."""

    way: Literal["tcp", "http", "exec", "ping"]
    """A connection, a request, a command that its agent runs, or a word with its agent."""
    port: int = 0
    host: str = ""
    """Whom to connect to; empty for the guest."""
    path: str = "/"
    secure: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()
    delay: float = 0.0
    """Seconds from the guest's start to the first time."""
    period: float = 10.0
    timeout: float = 1.0
    successes: int = 1
    """How often in a row it must go well until the guest counts as well."""
    failures: int = 3
    """How often in a row it must go wrong until the guest does not."""


class Checks(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is asked of a guest."""

    readiness: Check | None = None
    """Whether others may count on it."""
    liveness: Check | None = None
    """Whether it is to go on."""


class Tally(Struct):
    """A verdict, which changes when enough answers in a row speak against it."""

    check: Check
    well: bool
    against: int = 0

    def count(self, *, well: bool) -> None:
        """Count one answer."""
        self.against = self.against + 1 if well != self.well else 0
        if self.against >= (self.check.successes if well else self.check.failures):
            self.well, self.against = well, 0
