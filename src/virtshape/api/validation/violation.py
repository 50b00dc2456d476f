"""Field errors with Kubernetes' messages, and the error response that lists them."""

import json
from collections.abc import Iterable
from itertools import islice

from virtshape.api.diagnosis import MAX_PROBLEMS
from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.api.status import StatusError

_TYPE_NAMES = {
    bool: "bool",
    dict: "object",
    float: "number",
    int: "number",
    list: "array",
    str: "string",
    type(None): "null",
}


def invalid_value(field: str, value: object, detail: str) -> FieldError:
    """Return the error for an invalid value."""
    return FieldError(field, f"Invalid value: {show_value(value)}: {detail}")


def mistyped_value(field: str, value: object, detail: str) -> FieldError:
    """Return the error for a value of the wrong type."""
    return FieldError(field, f"Invalid value: {show_value(value)}: {detail}", "FieldValueTypeInvalid")


def required_value(field: str, detail: str = "") -> FieldError:
    """Return the error for a missing value."""
    return FieldError(field, f"Required value: {detail}" if detail else "Required value", "FieldValueRequired")


def unsupported_value(field: str, value: object, supported: Iterable[object]) -> FieldError:
    """Return the error for an unsupported value."""
    known = ", ".join(map(show_value, supported))
    return FieldError(
        field, f"Unsupported value: {show_value(value)}: supported values: {known}", "FieldValueNotSupported"
    )


def duplicate_value(field: str, value: object) -> FieldError:
    """Return the error for a duplicate value."""
    return FieldError(field, f"Duplicate value: {show_value(value)}", "FieldValueDuplicate")


def forbidden_value(field: str, detail: str) -> FieldError:
    """Return the error for a forbidden value."""
    return FieldError(field, f"Forbidden: {detail}", "FieldValueForbidden")


def too_long_value(field: str, limit: int) -> FieldError:
    """Return the error for a value that is too long."""
    return FieldError(field, f"Too long: may not be more than {limit} bytes", "FieldValueTooLong")


def show_value(value: object) -> str:
    """Return a value as error messages show it: as JSON with sorted keys."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def list_causes(causes: Iterable[FieldError]) -> str:
    """Return one message that lists all causes, without duplicates."""
    message = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    return message[0] if len(message) == 1 else f"[{', '.join(message)}]"


def invalid_error(group: str, kind: str, name: str, causes: Iterable[FieldError]) -> StatusError:
    """Return the 422 error for an invalid object, with the first `MAX_PROBLEMS` of these causes."""
    causes = tuple(islice(causes, MAX_PROBLEMS))
    qualified = f"{kind}.{group}" if group else kind
    message = f'{qualified} "{name}" is invalid: {list_causes(causes)}'
    return StatusError(422, "Invalid", message, causes).about(group, kind, name)


def invalid_object_error(kind: Kind, name: str, causes: Iterable[FieldError]) -> StatusError:
    """Return the 422 error for an invalid object of this kind."""
    return invalid_error(kind.group, kind.kind, name, causes)


def patch_type_error(given: object, wanted: str) -> StatusError:
    """Return the error for a patch with a value of the wrong type."""
    message = f"json: cannot unmarshal {_TYPE_NAMES[type(given)]} into {wanted}"
    return StatusError(400, "BadRequest", f"error decoding patch: {message}")
