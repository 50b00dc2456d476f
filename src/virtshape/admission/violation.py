"""The result of checks: errors reject an object, deprecated fields only cause warnings."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from virtshape.api.fielderror import FieldError

DEPRECATED: Final = "deprecated-field"
"""Rule for deprecated fields: they cause a warning, not a rejection."""


class CheckResult(NamedTuple):
    """Causes of a rejection, and warnings for the author of the object."""

    causes: list[FieldError]
    warnings: list[str]


def split_violations(violations: Iterable[FieldError]) -> CheckResult:
    """Split violations into causes and warnings."""
    result = CheckResult([], [])
    for violation in violations:
        if violation.rule == DEPRECATED:
            result.warnings.append(violation.message)
        else:
            result.causes.append(violation)
    return result
