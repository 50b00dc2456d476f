"""
Parse DeleteOptions and decide whether a delete request removes the object or only marks it as deleting.

This module does not change the store. Grace periods are parsed but ignored.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import FOREGROUND, ORPHAN
from virtshape.api.validation.violation import invalid_error, invalid_value, unsupported_value
from virtshape.apiserver.bodies import media_type_error, read_yaml
from virtshape.apiserver.encoding.negotiation import ACCEPTED, media_type
from virtshape.apiserver.message import JSON, YAML

_POLICIES: Final = ("Foreground", "Background", "Orphan")


class Preconditions(Struct):
    """Conditions that the object must meet to be deleted."""

    uid: str | None = None
    resource_version: str | None = msgspec.field(default=None, name="resourceVersion")


class DeleteOptions(Struct, rename="camel"):
    """Options of a delete request; unknown options are ignored, as in Kubernetes."""

    kind: str = "DeleteOptions"
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    dry_run: list[str] | None = None


class Deletion(NamedTuple):
    """The result of a delete request: whether the object is removed, and the object to store otherwise."""

    gone: bool
    tree: JsonObject


def read_delete_options(body: bytes, query: Mapping[str, Sequence[str]], content_type: str = JSON) -> DeleteOptions:
    """Return the options in the body, or in the query if the body is empty; raise StatusError if they are invalid."""
    try:
        options = _read_body(body, media_type(content_type) or JSON) if body else _read_query(query)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StatusError(400, "BadRequest", f"error decoding delete options: {error}") from error
    if options.kind != "DeleteOptions":
        raise StatusError(400, "BadRequest", f"expected DeleteOptions, got {options.kind}")
    if causes := _check_options(options):
        raise invalid_error("meta.k8s.io", "DeleteOptions", "", causes)
    return options


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


def _read_body(body: bytes, media: str) -> DeleteOptions:
    if media == YAML:
        return msgspec.convert(read_yaml(body), DeleteOptions)
    if media != JSON:
        raise media_type_error(ACCEPTED)
    return msgspec.json.decode(body, type=DeleteOptions | None) or DeleteOptions()


def _read_query(query: Mapping[str, Sequence[str]]) -> DeleteOptions:
    given: JsonObject = {
        name: query[name][0] for name in ("propagationPolicy", "gracePeriodSeconds") if query.get(name)
    }
    if query.get("orphanDependents"):
        given["orphanDependents"] = query["orphanDependents"][0].lower() not in ("false", "0")
    if query.get("dryRun"):
        given["dryRun"] = list(query["dryRun"])
    return msgspec.convert(given, DeleteOptions, strict=False)


def _check_options(options: DeleteOptions) -> list[FieldError]:
    causes = []
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        message = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value("propagationPolicy", policy, message))
    if policy not in (None, *_POLICIES):
        causes.append(unsupported_value("propagationPolicy", policy, (*_POLICIES, "nil")))
    if options.dry_run and options.dry_run != ["All"] * len(options.dry_run):
        causes.append(unsupported_value("dryRun", options.dry_run, ["All"]))
    return causes


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
        stated = kind.plural if _is_namespace(kind) else kind.kind  # same format as Kubernetes
        qualified = f"{stated}.{kind.group}" if kind.group else stated
        message = f'Operation cannot be fulfilled on {qualified} "{name}": {reason}'
        raise StatusError(409, "Conflict", message).about(kind.group, stated, name)


def _choose_finalizers(finalizers: list[str], options: DeleteOptions) -> list[str]:
    """Return the finalizers that the object needs for the propagation policy."""
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
