"""
Decide from an object's finalizers whether a delete request removes the object or only marks it as deleting.

The functions are pure.
"""

from typing import NamedTuple

from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import FOREGROUND, ORPHAN
from virtshape.apiserver.deleteoptions import DeleteOptions, Preconditions


class Deletion(NamedTuple):
    """The result of a delete request: whether the object is removed, and the object to store otherwise."""

    gone: bool
    tree: JsonObject


def decide_deletion(tree: JsonObject, options: DeleteOptions, kind: Kind, now: str) -> Deletion:
    """Return the result of deleting the object; raise StatusError 409 if a precondition is not met."""
    metadata = tree["metadata"]
    _validate_preconditions(metadata, options.preconditions or Preconditions(), kind)
    finalizers = _choose_finalizers(metadata.get("finalizers") or [], options)
    if not finalizers and not _has_namespace_finalizers(tree, kind):
        return Deletion(True, tree)
    return Deletion(False, _mark(tree, finalizers, kind, now))


def is_finished(tree: JsonObject, kind: Kind) -> bool:
    """Return True if an object is being deleted and has no finalizers left."""
    metadata = tree["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    return not _has_namespace_finalizers(tree, kind)


def _validate_preconditions(metadata: JsonObject, wanted: Preconditions, kind: Kind) -> None:
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    reason = ""
    if wanted.uid is not None and wanted.uid != uid:
        reason = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
    elif wanted.resource_version is not None and wanted.resource_version != version:
        reason = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match "
            f"the ResourceVersion in record ({version}). The object might have been modified"
        )
    if reason:
        name = metadata["name"]
        stated = kind.plural if _is_namespace(kind) else kind.kind  # named as in Kubernetes' message
        qualified = f"{stated}.{kind.group}" if kind.group else stated
        message = f'Operation cannot be fulfilled on {qualified} "{name}": {reason}'
        raise StatusError(409, "Conflict", message).about(kind.group, stated, name)


def _choose_finalizers(finalizers: list[str], options: DeleteOptions) -> list[str]:
    """Return the finalizers, with those for orphans and foreground deletion set as the propagation policy requires."""
    match options:
        case DeleteOptions(orphan_dependents=bool(orphan)):
            wanted = [ORPHAN] if orphan else []
        case DeleteOptions(propagation_policy="Orphan"):
            wanted = [ORPHAN]
        case DeleteOptions(propagation_policy="Foreground"):
            wanted = [FOREGROUND]
        case DeleteOptions(propagation_policy="Background"):
            wanted = []
        case _:
            return finalizers
    return [name for name in finalizers if name not in (ORPHAN, FOREGROUND)] + wanted


def _has_namespace_finalizers(tree: JsonObject, kind: Kind) -> bool:
    """Return True if the object is a namespace whose spec still has finalizers."""
    return _is_namespace(kind) and bool((tree.get("spec") or {}).get("finalizers"))


def _is_namespace(kind: Kind) -> bool:
    return kind.group == "" and kind.kind == "Namespace"


def _mark(tree: JsonObject, finalizers: list[str], kind: Kind, now: str) -> JsonObject:
    """Return the object with these finalizers and a deletionTimestamp."""
    metadata = tree["metadata"]
    changes: JsonObject = {}
    if finalizers != (metadata.get("finalizers") or []):
        changes["finalizers"] = finalizers or None
    if not metadata.get("deletionTimestamp"):
        changes["deletionTimestamp"] = now
        if not _is_namespace(kind):
            changes["deletionGracePeriodSeconds"] = 0
        if metadata.get("generation"):
            changes["generation"] = metadata["generation"] + 1
    if not changes:
        return tree
    marked = {**tree, "metadata": {name: value for name, value in {**metadata, **changes}.items() if value is not None}}
    if _is_namespace(kind):
        marked["status"] = {**(tree.get("status") or {}), "phase": "Terminating"}
    return marked
