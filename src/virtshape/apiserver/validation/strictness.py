"""
Field validation: ignore, warn about or reject unknown and duplicate fields.

Unknown fields and nulls are always dropped, and objects that violate their kind's schema are rejected.
"""

from typing import Any, Final

import msgspec

from virtshape.api.codec import from_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.jsontext import find_duplicate_keys
from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.problems import DecodeError
from virtshape.api.status import StatusError
from virtshape.apiserver.capability import is_custom_resource
from virtshape.apiserver.managedfields.ssa import find_undeclared, typed_patch_error
from virtshape.apiserver.patches.jsonpatch import find_unknown_members
from virtshape.apiserver.validation.constraints import check_constraints
from virtshape.apiserver.validation.metadata import check_created
from virtshape.apiserver.validation.names import generate_name
from virtshape.apiserver.validation.normalize import NormalizedObject, normalize_object
from virtshape.apiserver.validation.violation import invalid_error, invalid_object_error, invalid_value

MAX_WARNING_CHARACTERS: Final = 4096


def admit_fields(
    tree: JsonObject, text: bytes | None, kind: Kind, validation: str, *, patching: bool = False, creating: bool = False
) -> tuple[JsonObject, list[str]]:
    """
    Return the tree without unknown fields and nulls, and warnings about fields.

    `text` is the JSON that the tree was decoded from, if any. The identical tree is returned if nothing was dropped.
    Metadata problems of a new object are reported only together with other problems.
    """
    repeated = find_duplicates(text, tree) if text is not None and validation != "Ignore" else []
    problems = [f'duplicate field "{path}"' for path in repeated]
    normalized = NormalizedObject(tree, [], [], []) if _fits(tree, text, kind) else normalize_object(tree, kind)
    problems += [f'unknown field "{path}"' for path in normalized.unknown]
    if normalized.misfits:
        raise _refuse_body(tree, kind, normalized.misfits[0], patching=patching)
    if problems and validation == "Strict":
        raise _refuse_body(tree, kind, f"strict decoding error: {', '.join(problems)}", patching=patching)
    warnings = limit_warnings(problems) if validation == "Warn" else []
    causes = normalized.causes
    if normalized.tree is not tree and not causes:
        causes = _find_remaining(normalized.tree, kind)
    if is_custom_resource(kind):
        causes = check_constraints(normalized.tree, kind, causes)
    if causes:
        if creating and is_custom_resource(kind):
            causes = [*_check_new_metadata(normalized.tree, kind), *causes]
        refusal = invalid_object_error(kind, (normalized.tree.get("metadata") or {}).get("name") or "", causes)
        refusal.warnings = tuple(warnings)
        raise refusal
    return normalized.tree, warnings


def _check_new_metadata(tree: JsonObject, kind: Kind) -> list[FieldError]:
    metadata = tree.get("metadata") or {}
    if metadata.get("generateName") and not metadata.get("name"):
        metadata = {**metadata, "name": generate_name(metadata["generateName"])}
    return check_created(metadata, kind)


def check_part(tree: JsonObject, kind: Kind) -> None:
    """Raise StatusError if a partial object has invalid fields; required fields may be absent."""
    if _fits(tree, None, kind):
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
    """Return problems of a patch itself; raise StatusError if validation is strict."""
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
    # Each dropped key drops a colon too. Only an escaped colon could hide that.
    if b"\\u003" not in text and text.count(b":") == msgspec.json.encode(tree).count(b":"):
        return []
    return find_duplicate_keys(text)


def limit_warnings(warnings: list[str]) -> list[str]:
    """Return the warnings up to the maximum total length."""
    left = MAX_WARNING_CHARACTERS
    for index, warning in enumerate(warnings):
        left -= len(warning)
        if left < 0:
            return warnings[:index]
    return warnings


def _fits(tree: JsonObject, text: bytes | None, kind: Kind) -> bool:
    """Return True if the object needs no normalization."""
    if b"null" in (text if text is not None else msgspec.json.encode(tree)):
        return False
    try:
        # Fast check; normalization explains the problems.
        msgspec.convert(tree, kind.struct, dec_hook=_read_integer if is_custom_resource(kind) else _read_scalar)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def _read_scalar(scalar: type, value: Any) -> Any:
    return scalar(value)


def _read_integer(scalar: type, value: Any) -> Any:
    """Decode a scalar of a custom resource, whose definition accepts only integers."""
    if value.__class__ is float:
        raise ValueError("not an integer")
    return scalar(value)


def _find_remaining(tree: JsonObject, kind: Kind) -> list[FieldError]:
    """Return problems of the decoder that normalization did not find, except those checked elsewhere."""
    try:
        from_tree(tree, kind.struct)
    except DecodeError as error:
        return [cause for cause in error.causes if not cause.field.startswith("metadata.ownerReferences[")]
    return []


def _refuse_body(tree: JsonObject, kind: Kind, message: str, *, patching: bool) -> StatusError:
    if patching:
        patched = msgspec.json.encode(tree).decode()
        return invalid_error("", "", "", [invalid_value("patch", patched, message)])
    head = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
    return StatusError(400, "BadRequest", f"{head}: {message}")
