"""
What objects of core kinds have from the server alone: nobody owns it, and no ordinary write changes it.

Works on plain trees and never changes those it is given.
"""

from typing import Any, Final

from virtshape.api.kinds import Kind

Tree = dict[str, Any]

NAMESPACE_FINALIZER: Final = "kubernetes"
_EVENT: Final = {"eventTime": None, "reportingComponent": "", "reportingInstance": ""}


def prepare_for_create(kind: Kind, tree: Tree) -> Tree:
    """A new object with its first status and all that every object of its kind has."""
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


def prepare_for_update(kind: Kind, tree: Tree, old: Tree, subresource: str) -> Tree:
    """A changed object with what this way of writing cannot change: a namespace keeps its finalizers."""
    if kind.group or kind.kind != "Namespace" or subresource or "spec" not in old:
        return tree
    return {**tree, "spec": old["spec"]}


def _with_finalizer(spec: Tree) -> Tree:
    finalizers = spec.get("finalizers") or []
    if NAMESPACE_FINALIZER not in finalizers:
        finalizers = [*finalizers, NAMESPACE_FINALIZER]
    return {**spec, "finalizers": finalizers}
