"""
Prepare objects for storage: set the metadata, apply the changes that a write may make, and encode the result.

Functions work on decoded JSON and never modify their arguments.
"""

from collections.abc import Mapping
from random import getrandbits
from typing import Any, Final

import msgspec

from virtshape.api.model import JsonObject
from virtshape.api.schema import DEFAULTS
from virtshape.api.validation.metadata import restore_metadata
from virtshape.apiserver.limits import MAX_OBJECT_BYTES, validate_object_size
from virtshape.apiserver.resource import Resource
from virtshape.store.record import Key
from virtshape.store.writer import Write

_PLACEHOLDER: Final = "~"
_MARK: Final = f'"resourceVersion":"{_PLACEHOLDER}"'.encode()
_SPLIT: Final = len(_MARK) - len(_PLACEHOLDER) - 1
_ORDER: Final = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
_STATED_EMPTY: Final = frozenset({"resourceVersion", "deletionGracePeriodSeconds"})
"""Metadata fields that are stored even if they are empty or zero; other empty fields are omitted."""
_HEAD: Final = ("apiVersion", "kind", "metadata")


def metadata_of(tree: Mapping[str, Any]) -> JsonObject:
    """Return an object's metadata."""
    metadata: JsonObject = tree.get("metadata") or {}
    return metadata


def assemble(tree: Mapping[str, Any], metadata: Mapping[str, Any], **parts: object) -> JsonObject:
    """Return the object with this metadata and these top-level fields (None removes a field), in storage order."""
    ordered = {
        name: value for name in _ORDER if (value := metadata.get(name)) or (name in _STATED_EMPTY and value is not None)
    }
    ordered["resourceVersion"] = metadata.get("resourceVersion", "")
    assembled = {"apiVersion": tree["apiVersion"], "kind": tree["kind"], "metadata": ordered}
    assembled |= {name: value for name, value in tree.items() if name not in _HEAD and name not in parts}
    return assembled | {name: value for name, value in parts.items() if value is not None}


def make_uid() -> str:
    """Return a new random UID."""
    digits = f"{getrandbits(128):032x}"  # UIDs need not be unpredictable, so no system call is made
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def initialize_object(resource: Resource, tree: JsonObject, namespace: str, name: str, now: str) -> JsonObject:
    """Return a new object with the metadata that the server sets."""
    own = metadata_of(tree)
    metadata = {
        **own,
        "name": name,
        "namespace": namespace or None,
        "uid": make_uid(),
        "creationTimestamp": now,
        "generation": 1 if resource.has_generation else None,
        "resourceVersion": "",
        "deletionTimestamp": None,
        "deletionGracePeriodSeconds": None,
    }
    return assemble(tree, metadata)


def replace(resource: Resource, old: JsonObject, new: JsonObject, subresource: str = "") -> JsonObject:
    """Return `old` after an update with `new`: all fields but the status, or only the fields of a subresource."""
    if subresource == "status":
        return assemble(old, metadata_of(old), status=_complete_status(resource, new.get("status")))
    if subresource == "finalize":
        spec = {**(old.get("spec") or {}), "finalizers": (new.get("spec") or {}).get("finalizers") or None}
        return assemble(old, metadata_of(old), spec={name: value for name, value in spec.items() if value is not None})
    before = metadata_of(old)
    metadata = {**restore_metadata(metadata_of(new), before), "resourceVersion": before["resourceVersion"]}
    status = {"status": old.get("status")} if resource.has_status else {}
    return update_generation(resource, old, assemble(new, metadata, **status))


def _complete_status(resource: Resource, status: JsonObject | None) -> JsonObject | None:
    """Return the status with the defaults of its fields."""
    defaults = DEFAULTS.get(f"{resource.stored.kind}Status")
    return {**defaults, **status} if defaults is not None and status is not None else status


def update_generation(resource: Resource, old: JsonObject, new: JsonObject, subresource: str = "") -> JsonObject:
    """Return the new object with the old generation, incremented if the content other than metadata changed."""
    if subresource or not resource.has_generation:
        return new
    before = metadata_of(old).get("generation") or 0
    generation = before if has_same_content(old, new) else before + 1
    return assemble(new, {**new["metadata"], "generation": generation or None})


def has_same_content(old: JsonObject, new: JsonObject) -> bool:
    """Return True if two objects are equal apart from apiVersion, kind and metadata."""
    return {n: v for n, v in old.items() if n not in _HEAD} == {n: v for n, v in new.items() if n not in _HEAD}


def make_write(
    key: Key, expected: int, tree: JsonObject, *, removes: bool = False, largest: int | None = MAX_OBJECT_BYTES
) -> Write:
    """Return the write that stores or removes an object; raise StatusError 413 if the object is too large."""
    data = msgspec.json.encode({**tree, "metadata": {**tree["metadata"], "resourceVersion": _PLACEHOLDER}})
    if largest is not None and len(data) > largest and not removes:
        validate_object_size(len(data), key.resource, key.name, largest)
    at = data.index(_MARK) + _SPLIT
    return Write(key, expected, data[:at], data[at + len(_PLACEHOLDER) :], removes)


def encode_tree(tree: JsonObject) -> bytes:
    """Encode an object that is not stored; an empty resourceVersion is omitted."""
    if not tree["metadata"].get("resourceVersion"):
        metadata = {name: value for name, value in tree["metadata"].items() if name != "resourceVersion"}
        tree = {**tree, "metadata": metadata}
    return msgspec.json.encode(tree)
