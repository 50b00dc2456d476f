"""
What is wrong with an object by itself, as data: which rule, in which field, in reason.

Pure: returned by checks, never raised. Admission refuses for it, lint reports it.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from virtshape.api.status import Cause
from virtshape.engine.conflict import VALUE_INVALID

DEPRECATED: Final = "deprecated-field"
"""The rule that is broken by what still works: it warrants a warning, no refusal."""


class Violation(NamedTuple):
    """One rule broken in one field, the reason for it, and what Kubernetes calls it."""

    rule: str
    field: str
    message: str
    type: str = VALUE_INVALID

    @property
    def cause(self) -> Cause:
        """The violation as a cause of a refusal."""
        return Cause(self.type, self.message, self.field)


class CheckResult(NamedTuple):
    """What to refuse an object for, and what to warn its author of."""

    causes: list[Cause]
    warnings: list[str]


def split_violations(violations: Iterable[Violation]) -> CheckResult:
    """Tell violations to refuse for from those to warn of."""
    result = CheckResult([], [])
    for violation in violations:
        if violation.rule == DEPRECATED:
            result.warnings.append(violation.message)
        else:
            result.causes.append(violation.cause)
    return result
