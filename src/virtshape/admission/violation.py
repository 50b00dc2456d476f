"""A violation of a rule as data: rule, field, message. Checks return violations; admission rejects, lint reports."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from virtshape.api.status import Cause
from virtshape.engine.conflict import VALUE_INVALID

DEPRECATED: Final = "deprecated-field"
"""Rule for deprecated fields: they cause a warning, not a rejection."""


class Violation(NamedTuple):
    """A rule violated in one field, with a message and the Kubernetes cause type."""

    rule: str
    field: str
    message: str
    type: str = VALUE_INVALID

    @property
    def cause(self) -> Cause:
        """The violation as a cause of a Kubernetes Status."""
        return Cause(self.type, self.message, self.field)


class CheckResult(NamedTuple):
    """Causes of a rejection, and warnings for the author of the object."""

    causes: list[Cause]
    warnings: list[str]


def split_violations(violations: Iterable[Violation]) -> CheckResult:
    """Split violations into causes and warnings."""
    result = CheckResult([], [])
    for violation in violations:
        if violation.rule == DEPRECATED:
            result.warnings.append(violation.message)
        else:
            result.causes.append(violation.cause)
    return result
