"""
The annotation in which client-side `kubectl apply` keeps what it applied, on the way to server-side apply.

Whoever goes over with kubectl owns what the annotation says, and finds it up to date on the way back.
"""

from typing import Any, Final

import msgspec

from virtshape.apiserver.managedfields.fieldset import FieldSet, difference
from virtshape.apiserver.managedfields.fieldtypes import ObjectType
from virtshape.apiserver.managedfields.ownership import RepeatedItemError, Tree, compare, declare, owned_part

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation that kubectl reads and writes."""
MANAGER: Final = "kubectl"
"""The only manager that it concerns; others opt out by their names."""

_LARGEST_ANNOTATIONS: Final = 256 * 1024
_encoder = msgspec.json.Encoder(order="sorted")


def find_last_applied(tree: Tree) -> str | None:
    """Read what client-side apply left in an object."""
    annotations = (tree.get("metadata") or {}).get("annotations") or {}
    return annotations.get(ANNOTATION) or None


def owned_by_last_applied(live: Tree, api_version: str, subresource: str, kind: ObjectType) -> FieldSet:
    """Find the fields that client-side apply gave their present values."""
    try:
        last = msgspec.json.decode(find_last_applied(live) or "{}")
    except msgspec.DecodeError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != api_version:
        return {}
    config = owned_part(last, kind, subresource)
    change = compare(config, owned_part(live, kind, subresource), kind.fields)
    try:
        fields = declare(config, kind.fields) or {}
    except RepeatedItemError:
        return {}
    return difference(difference(fields, change.taken or {}), change.lost or {})


def with_last_applied(annotations: dict[str, str], applied: Tree) -> dict[str, str]:
    """Write into the annotation what was applied now; leave it out if that makes annotations too large."""
    metadata: dict[str, Any] = dict(applied.get("metadata") or {})
    if metadata.get("annotations"):
        metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if k != ANNOTATION}
    text = _encoder.encode({**applied, "metadata": metadata}).decode() + "\n"
    written = {**annotations, ANNOTATION: text}
    if sum(len(key.encode()) + len(value.encode()) for key, value in written.items()) > _LARGEST_ANNOTATIONS:
        del written[ANNOTATION]
    return written
