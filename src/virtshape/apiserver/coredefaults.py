"""
Fields of core kinds that only the server sets: initial status, namespace finalizers, event defaults.

Functions work on decoded JSON and never modify their arguments.
"""

from typing import Final

from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject

NAMESPACE_FINALIZER: Final = "kubernetes"
_EVENT: Final = {"eventTime": None, "reportingComponent": "", "reportingInstance": ""}


def prepare_for_create(kind: Kind, tree: JsonObject) -> JsonObject:
    """Return a new object with its initial status and required fields."""
    match kind.group, kind.kind:
        case "", "Namespace":
            return {**tree, "spec": _with_finalizer(tree.get("spec") or {}), "status": {"phase": "Active"}}
        case "", "PersistentVolume" | "PersistentVolumeClaim" | "Pod":
            return {**tree, "status": {"phase": "Pending"}}
        case "", "ResourceQuota":
            return {**tree, "status": {}}
        case "", "Event":
            return {**tree, **{field: tree.get(field, value) for field, value in _EVENT.items()}}
        case _:
            return tree


def prepare_for_update(kind: Kind, tree: JsonObject, old: JsonObject, subresource: str) -> JsonObject:
    """Return the updated object; the spec of a namespace keeps its old value."""
    if kind.group or kind.kind != "Namespace" or subresource or "spec" not in old:
        return tree
    return {**tree, "spec": old["spec"]}


def _with_finalizer(spec: JsonObject) -> JsonObject:
    finalizers = spec.get("finalizers") or []
    if NAMESPACE_FINALIZER not in finalizers:
        finalizers = [*finalizers, NAMESPACE_FINALIZER]
    return {**spec, "finalizers": finalizers}
