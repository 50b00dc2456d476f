"""
Preview an import: plan it from the contents of files, and compare the plan with objects that the caller read.

The function is pure: the caller reads and writes objects with its own permissions.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from virtshape.api.codec import encode, from_tree, to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import find_kind
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.problems import DecodeError
from virtshape.api.status import StatusError
from virtshape.api.unknownfields import decode_with_unknown
from virtshape.engine.compare import Change
from virtshape.offline.files import Loaded, find_duplicates, take_text
from virtshape.offline.importcompare import compare_imported, follow_upgrades, get_body, merge_stored, plan_owners
from virtshape.offline.importplan import Skipped, Step, describe_skipped_documents, is_importable, plan_import
from virtshape.offline.problems import FileProblem
from virtshape.resolve.importrequest import (
    DroppedField,
    ImportChange,
    ImportObject,
    ImportPreview,
    ImportProblem,
    ImportRequest,
    Result,
)
from virtshape.resolve.reference import Reference

_METADATA_ONLY = {"apiVersion", "kind", "metadata"}


class _Existing(NamedTuple):
    """Existing objects with their metadata, and for each namespace the replaced revisions and their replacements."""

    trees: Mapping[Reference, JsonObject]
    metadata: Mapping[Reference, ObjectMeta]
    successors: Mapping[str, Mapping[str, str]]


def preview_import(request: ImportRequest) -> ImportPreview:
    """Return the plan for each object, or the problems of the files; raise StatusError if the request is invalid."""
    loaded = Loaded()
    for file in request.files:
        take_text(file.text.encode(), file.name, loaded, is_importable, is_named=True)
    loaded.problems += find_duplicates(loaded.entries)
    if loaded.problems:
        return ImportPreview([_describe_problem(problem) for problem in loaded.problems], [])
    existing = _read_existing(request)
    plan = plan_import(loaded.entries, halt=request.halted)
    skipped = [*plan.skipped, *describe_skipped_documents(loaded)]
    items = [*(_plan_object(step, existing) for step in plan.steps), *map(_describe_skipped, skipped)]
    return ImportPreview([], items)


def _read_existing(request: ImportRequest) -> _Existing:
    trees: dict[Reference, JsonObject] = {}
    metadata: dict[Reference, ObjectMeta] = {}
    successors: dict[str, dict[str, str]] = {}
    for index, tree in enumerate(request.existing):
        reference, about = _read_metadata(tree, f"existing[{index}]")
        trees[reference], metadata[reference] = tree, about
    for replaced in request.replaced:
        successors.setdefault(replaced.namespace, {})[replaced.name] = replaced.by
    return _Existing(trees, metadata, successors)


def _read_metadata(tree: Any, field: str) -> tuple[Reference, ObjectMeta]:
    """Return the reference and metadata of an existing object."""
    if not isinstance(tree, dict) or not all(isinstance(tree.get(key), str) for key in ("apiVersion", "kind")):
        raise _reject(field, "must be an object with apiVersion and kind")
    try:
        metadata = from_tree(tree.get("metadata") or {}, ObjectMeta)
    except DecodeError as error:
        raise _reject(f"{field}.metadata", error.message) from None
    group = tree["apiVersion"].rpartition("/")[0]
    return Reference(group, tree["kind"], metadata.namespace or "", metadata.name or ""), metadata


def _reject(field: str, message: str) -> StatusError:
    return StatusError(400, "BadRequest", f"{field}: {message}", [FieldError(field, message)])


def _plan_object(step: Step, existing: _Existing) -> ImportObject:
    at = step.reference
    tree, successors = existing.trees.get(at), existing.successors.get(at.namespace, {})
    if tree is not None:
        return _plan_existing(step, tree, successors, _write_owners(step, existing.metadata))
    if at.kind == "ControllerRevision" and at.name in successors:
        return _describe(step, "unchanged", message=f"the server replaced it with {successors[at.name]}")
    return _describe(step, "create", get_body(step.item), step.changes)


def _plan_existing(step: Step, tree: JsonObject, successors: Mapping[str, str], owners: str) -> ImportObject:
    """Return the plan for an object that exists."""
    if tree.keys() <= _METADATA_ONLY:
        return _describe(step, "unchanged", owners=owners)
    try:
        stored, _ = decode_with_unknown(tree, type(step.item))
    except DecodeError as error:
        raise _reject("existing", f"{step.reference.kind} {step.reference.name}: {error.message}") from None
    wanted = follow_upgrades(step.item, stored, successors)
    changes = compare_imported(wanted, stored, stated_only=True)
    if not changes:
        return _describe(step, "unchanged", owners=owners)
    return _describe(step, "differs", merge_stored(get_body(wanted), stored), changes, owners=owners)


def _write_owners(step: Step, stored: Mapping[Reference, ObjectMeta]) -> str:
    """Return the merge patch that sets the owners of an existing object; empty if they are already set."""
    owners = plan_owners(step, stored).wanted
    return encode({"metadata": {"ownerReferences": to_tree(owners)}}).decode() if owners is not None else ""


def _describe(
    step: Step, result: Result, body: Any = None, changes: Iterable[Change] = (), message: str = "", owners: str = ""
) -> ImportObject:
    at, item = step.reference, step.item
    kind = find_kind(item.api_version, item.kind)
    return ImportObject(
        api_version=item.api_version,
        kind=at.kind,
        name=at.name,
        result=result,
        resource=kind.plural if kind is not None else "",
        namespace=at.namespace,
        message=message,
        changes=[ImportChange(*change) for change in changes],
        dropped=[DroppedField(*dropped) for dropped in step.dropped] if body is not None else [],
        body=encode(body).decode() if body is not None else "",
        owners=owners,
    )


def _describe_skipped(skipped: Skipped) -> ImportObject:
    return ImportObject(
        skipped.api_version, skipped.kind, skipped.name, "skipped", namespace=skipped.namespace, message=skipped.reason
    )


def _describe_problem(found: FileProblem) -> ImportProblem:
    line, column = found.place or (0, 0)
    field, message, *_ = found.problem
    return ImportProblem(found.source, message if field in message else str(found.problem), line, column)
