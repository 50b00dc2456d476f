"""The last-applied annotation of client-side `kubectl apply`, for migration to and from server-side apply."""

from typing import Final

import msgspec

from virtshape.api.model import JsonObject
from virtshape.api.wellknown import LAST_APPLIED
from virtshape.apiserver.managedfields.fieldset import FieldSet, difference
from virtshape.apiserver.managedfields.fieldtypes import ObjectType
from virtshape.apiserver.managedfields.ownership import RepeatedItemError, compare, declare, owned_part

MANAGER: Final = "kubectl"
"""The only field manager whose fields are migrated."""

_MAX_ANNOTATION_BYTES: Final = 256 * 1024
_encoder = msgspec.json.Encoder(order="sorted")


def find_last_applied(tree: JsonObject) -> str | None:
    """Return the configuration in the last-applied annotation as JSON text, or None."""
    annotations = (tree.get("metadata") or {}).get("annotations") or {}
    return annotations.get(LAST_APPLIED) or None


def owned_by_last_applied(live: JsonObject, api_version: str, subresource: str, kind: ObjectType) -> FieldSet:
    """Return the fields whose current values come from client-side apply."""
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


def with_last_applied(annotations: dict[str, str], applied: JsonObject) -> dict[str, str]:
    """Return the annotations with the applied configuration added, unless they would become too large."""
    metadata: JsonObject = dict(applied.get("metadata") or {})
    if metadata.get("annotations"):
        metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if k != LAST_APPLIED}
    text = _encoder.encode({**applied, "metadata": metadata}).decode() + "\n"
    written = {**annotations, LAST_APPLIED: text}
    if sum(len(key.encode()) + len(value.encode()) for key, value in written.items()) > _MAX_ANNOTATION_BYTES:
        del written[LAST_APPLIED]
    return written
