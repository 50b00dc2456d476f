"""
Field validation: ignore, warn about or reject unknown and duplicate fields.

Unknown fields and nulls are always dropped, and objects that violate their kind's schema are rejected.
"""

from typing import Any, Final

import msgspec

from virtshape.api.jsontext import find_duplicate_keys
from virtshape.api.kinds import Kind, is_custom_resource
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import check_submitted
from virtshape.api.validation.normalize import normalize_object
from virtshape.api.validation.schema import check_schema, is_normal
from virtshape.api.validation.violation import invalid_error, invalid_object_error, invalid_value
from virtshape.apiserver.managedfields.serversideapply import find_undeclared, typed_patch_error
from virtshape.apiserver.patches.jsonpatch import find_unknown_members

MAX_WARNING_CHARACTERS: Final = 4096


def admit_fields(
    tree: JsonObject, text: bytes | None, kind: Kind, validation: str, *, patching: bool = False, creating: bool = False
) -> tuple[JsonObject, list[str]]:
    """
    Return the object without unknown fields and nulls, and warnings about unknown and duplicate fields.

    `text` is the JSON that the object was decoded from, if any. The same dict is returned if nothing was dropped.
    Raise StatusError if the object violates its schema, or if validation is strict and there are such fields. Problems
    with the metadata of a new object are reported only together with other problems.
    """
    repeated = find_duplicates(text, tree) if text is not None and validation != "Ignore" else []
    problems = [f'duplicate field "{path}"' for path in repeated]
    normalized = check_schema(tree, kind, text)
    problems += [f'unknown field "{path}"' for path in normalized.unknown]
    if normalized.misfits:
        raise _refuse_body(tree, kind, normalized.misfits[0], patching=patching)
    if problems and validation == "Strict":
        raise _refuse_body(tree, kind, f"strict decoding error: {', '.join(problems)}", patching=patching)
    warnings = limit_warnings(problems) if validation == "Warn" else []
    causes = normalized.causes
    if causes:
        if creating and is_custom_resource(kind):
            causes = [*check_submitted(normalized.tree.get("metadata") or {}, kind), *causes]
        refusal = invalid_object_error(kind, (normalized.tree.get("metadata") or {}).get("name") or "", causes)
        refusal.warnings = tuple(warnings)
        raise refusal
    return normalized.tree, warnings


def validate_part(tree: JsonObject, kind: Kind) -> None:
    """Raise StatusError if a partial object has invalid fields; required fields may be absent."""
    if is_normal(tree, kind):
        return
    normalized = normalize_object(tree, kind)
    if normalized.unknown and (undeclared := find_undeclared(tree, kind)) is not None:
        raise undeclared
    mistyped = [
        f".{cause.field}: {cause.message}" for cause in normalized.causes if cause.reason == "FieldValueTypeInvalid"
    ]
    if normalized.misfits or mistyped:
        raise typed_patch_error(tree, [*normalized.misfits, *mistyped])


def check_patch_text(text: bytes, patch: Any, are_operations: bool, validation: str) -> list[str]:
    """Return warnings about duplicate and unknown fields in a patch; if validation is strict, raise StatusError."""
    if validation == "Ignore":
        return []
    prefix = "json patch " if are_operations else ""
    problems = [f'{prefix}duplicate field "{path}"' for path in find_duplicates(text, patch)]
    if are_operations and isinstance(patch, list):
        problems += find_unknown_members(patch)
    if problems and validation == "Strict":
        cause = invalid_value("patch", patch, f"strict decoding error: {', '.join(problems)}")
        raise invalid_error("", "", "", [cause])
    return problems


def find_duplicates(text: bytes, tree: Any) -> list[str]:
    """Return the paths of duplicate keys; `tree` is the decoded text."""
    # If the text has duplicate keys, it has fewer colons after decoding, unless escaped colons hide the difference.
    if b"\\u003" not in text and text.count(b":") == msgspec.json.encode(tree).count(b":"):
        return []
    return find_duplicate_keys(text)


def limit_warnings(warnings: list[str]) -> list[str]:
    """Return the first warnings whose total length is at most MAX_WARNING_CHARACTERS."""
    left = MAX_WARNING_CHARACTERS
    for index, warning in enumerate(warnings):
        left -= len(warning)
        if left < 0:
            return warnings[:index]
    return warnings


def _refuse_body(tree: JsonObject, kind: Kind, message: str, *, patching: bool) -> StatusError:
    if patching:
        patched = msgspec.json.encode(tree).decode()
        return invalid_error("", "", "", [invalid_value("patch", patched, message)])
    head = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
    return StatusError(400, "BadRequest", f"{head}: {message}")
