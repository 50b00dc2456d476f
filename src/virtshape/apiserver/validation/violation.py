"""
Violations of an object's rules in Kubernetes' words, and the refusal that lists them all.

Only words: what is wrong, and where, others find out.
"""

import json
from collections.abc import Iterable
from itertools import islice

from virtshape.api.diagnosis import MAX_PROBLEMS
from virtshape.api.kinds import Kind
from virtshape.api.status import Cause, StatusError

_TYPE_NAMES = {
    bool: "bool",
    dict: "object",
    float: "number",
    int: "number",
    list: "array",
    str: "string",
    type(None): "null",
}


def invalid_value(field: str, value: object, detail: str) -> Cause:
    """A value that breaks a rule."""
    return Cause("FieldValueInvalid", f"Invalid value: {show_value(value)}: {detail}", field)


def mistyped_value(field: str, value: object, detail: str) -> Cause:
    """A value of another type than the field's."""
    return Cause("FieldValueTypeInvalid", f"Invalid value: {show_value(value)}: {detail}", field)


def required_value(field: str, detail: str = "") -> Cause:
    """A value that is missing."""
    return Cause("FieldValueRequired", f"Required value: {detail}" if detail else "Required value", field)


def unsupported_value(field: str, value: object, supported: Iterable[object]) -> Cause:
    """A value that is none of those there are."""
    known = ", ".join(map(show_value, supported))
    return Cause("FieldValueNotSupported", f"Unsupported value: {show_value(value)}: supported values: {known}", field)


def duplicate_value(field: str, value: object) -> Cause:
    """A value that stands twice where each may stand once."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {show_value(value)}", field)


def forbidden_value(field: str, detail: str) -> Cause:
    """A value where none may be."""
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", field)


def too_long_value(field: str, limit: int) -> Cause:
    """A value with more bytes than it may have."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def show_value(value: object) -> str:
    """Write a value as refusals quote it: as JSON, the keys in order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def list_causes(causes: Iterable[Cause]) -> str:
    """Say all causes in one text, equal ones once."""
    message = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    return message[0] if len(message) == 1 else f"[{', '.join(message)}]"


def refuse_invalid(group: str, kind: str, name: str, causes: Iterable[Cause]) -> StatusError:
    """Refuse an object for all these causes, of which the answer names a limited number."""
    causes = tuple(islice(causes, MAX_PROBLEMS))
    qualified = f"{kind}.{group}" if group else kind
    message = f'{qualified} "{name}" is invalid: {list_causes(causes)}'
    return StatusError(422, "Invalid", message, causes).about(group, kind, name)


def refuse_object(kind: Kind, name: str, causes: Iterable[Cause]) -> StatusError:
    """Refuse an object of a kind that we serve for all these causes."""
    return refuse_invalid(kind.group, kind.kind, name, causes)


def refuse_patch(given: object, wanted: str) -> StatusError:
    """Refuse a patch that has something else where it must have what is wanted."""
    message = f"json: cannot unmarshal {_TYPE_NAMES[type(given)]} into {wanted}"
    return StatusError(400, "BadRequest", f"error decoding patch: {message}")
