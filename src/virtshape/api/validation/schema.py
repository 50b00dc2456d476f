"""
Schema validation: unknown fields, types, required fields, and the constraints of custom resources.

The API server and lint both call `check_schema`. Arguments are not modified.
"""

from typing import Any

import msgspec

from virtshape.api.codec import from_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind, is_custom_resource
from virtshape.api.model import JsonObject
from virtshape.api.problems import DecodeError
from virtshape.api.validation.constraints import check_constraints
from virtshape.api.validation.normalize import NormalizedObject, normalize_object


def check_schema(tree: JsonObject, kind: Kind, text: bytes | None = None) -> NormalizedObject:
    """
    Return the tree without unknown fields and nulls, and all its problems.

    `text` is the JSON that the tree was decoded from, if any. If nothing is removed, the same tree object is returned.
    """
    if is_normal(tree, kind, text):
        normalized = NormalizedObject(tree, [], [], [])
    else:
        normalized = normalize_object(tree, kind)
        if not normalized.causes and not normalized.misfits:
            normalized = normalized._replace(causes=_find_remaining(normalized.tree, kind))
    if is_custom_resource(kind):
        normalized = normalized._replace(causes=check_constraints(normalized.tree, kind, normalized.causes))
    return normalized


def is_normal(tree: JsonObject, kind: Kind, text: bytes | None = None) -> bool:
    """Return True if the object has only known fields of valid types, and its text does not contain `null`."""
    if b"null" in (text if text is not None else msgspec.json.encode(tree)):
        return False
    try:
        # Decoding is fast. If it fails, normalization finds the problems.
        read_exactly(tree, kind)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def read_exactly(tree: JsonObject, kind: Kind) -> Any:
    """Convert a tree to the struct of its kind; raise ValidationError if the tree does not match."""
    return msgspec.convert(tree, kind.struct, dec_hook=_read_integer if is_custom_resource(kind) else _read_scalar)


def _read_scalar(scalar: type, value: Any) -> Any:
    return scalar(value)


def _read_integer(scalar: type, value: Any) -> Any:
    """Decode a scalar in a custom resource; raise ValueError for a float, which the schema does not accept."""
    if value.__class__ is float:
        raise ValueError("not an integer")
    return scalar(value)


def _find_remaining(tree: JsonObject, kind: Kind) -> list[FieldError]:
    """Return problems that only the decoder finds, except those in owner references, which are checked elsewhere."""
    try:
        from_tree(tree, kind.struct)
    except DecodeError as error:
        return [cause for cause in error.causes if not cause.field.startswith("metadata.ownerReferences[")]
    return []
