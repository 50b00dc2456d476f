"""The result of checking an object: errors, for which the object is rejected, and warnings."""

from collections.abc import Iterable
from typing import Final, NamedTuple, NoReturn

from virtshape.api.fielderror import FieldError
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.engine.lifecycle import DEPRECATED_REFERENCE

DEPRECATED: Final = "deprecated-field"
"""Name of the rule for deprecated fields."""
DEFERRED: Final = "deferred-reference"
"""Name of the rule for references to missing objects that may be created after the VM."""
IN_USE: Final = "in-use"
"""Name of the rule for changes to objects that VMs refer to."""
NO_EFFECT: Final = "no-effect"
"""Name of the rule for settings that virtshape ignores."""
MEMORY_NOT_SET: Final = "memory-not-set"
"""Name of the rule for VMs that KubeVirt accepts although neither the VM nor its instance type sets memory."""
IMPOSSIBLE: Final = "impossible-preference"
"""Name of the rule for values in a preference that KubeVirt accepts although no guest can have them."""
WARNINGS: Final = frozenset(
    {
        DEPRECATED,
        DEFERRED,
        DEPRECATED_REFERENCE,
        IMPOSSIBLE,
        IN_USE,
        MEMORY_NOT_SET,
        NO_EFFECT,
        "inference-ignored",
        "preference-ignored",
        "inference-kept",
    }
)
"""Names of the rules whose violations cause a warning, not a rejection."""


class CheckResult(NamedTuple):
    """Causes of a rejection, and warnings for the author of the object."""

    causes: list[FieldError]
    warnings: list[str]


class Evaluation(NamedTuple):
    """The object to store, with defaults, and all its violations, including those that only cause warnings."""

    tree: JsonObject
    violations: list[FieldError]


def split_violations(violations: Iterable[FieldError]) -> CheckResult:
    """Split violations into causes and warnings."""
    result = CheckResult([], [])
    for violation in violations:
        if violation.rule in WARNINGS:
            result.warnings.append(violation.message)
        else:
            result.causes.append(violation)
    return result


def require_valid(violations: Iterable[FieldError]) -> list[str]:
    """Return the warnings; raise StatusError with one cause per error if there are errors."""
    result = split_violations(violations)
    if result.causes:
        refuse(result.causes, result.warnings)
    return result.warnings


def refuse(causes: Iterable[FieldError], warnings: Iterable[str] = ()) -> NoReturn:
    """Raise StatusError with these causes and warnings."""
    causes = tuple(dict.fromkeys(causes))
    error = StatusError(422, "Invalid", ", ".join(cause.message for cause in causes), causes)
    error.warnings = tuple(warnings)
    raise error
