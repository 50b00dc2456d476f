"""Counters of admission: how many objects were admitted, how many were denied, and why."""

from collections import Counter
from typing import Final, NamedTuple

from virtshape.api.kinds import Kind
from virtshape.api.status import StatusError

ALLOWED: Final = "allowed"
DENIED: Final = "denied"


class Verdict(NamedTuple):
    """The labels of a verdict. `reason` is the reason of the Status, such as `Invalid`; empty if allowed."""

    operation: str
    group: str
    resource: str
    verdict: str
    reason: str = ""


class Cause(NamedTuple):
    """The labels of a cause, which is one of the violations for which an object was denied."""

    group: str
    resource: str
    reason: str


class VerdictCounters:
    """Counts verdicts of one type of admission: `admit` in the API server, `mutating` or `validating` in webhooks."""

    def __init__(self, type_: str) -> None:
        self.type = type_
        self.verdicts: Counter[Verdict] = Counter()
        self.causes: Counter[Cause] = Counter()

    def count_allowed(self, operation: str, kind: Kind) -> None:
        """Count an object that was admitted."""
        self.verdicts[Verdict(operation, kind.group, kind.plural, ALLOWED)] += 1

    def count_denied(self, operation: str, kind: Kind, error: StatusError) -> None:
        """Count an object that was denied, and each of its violations."""
        self.verdicts[Verdict(operation, kind.group, kind.plural, DENIED, error.reason)] += 1
        for cause in error.causes:
            self.causes[Cause(kind.group, kind.plural, cause.reason)] += 1
