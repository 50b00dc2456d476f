"""
Server-side apply: merge a partial object into a live one and update field ownership.

Fields that the manager no longer applies and no other manager owns are removed. Changes to fields of other managers are
conflicts unless they are forced. All functions are pure; results share unchanged values with the arguments.
"""

import json
from typing import Final, NamedTuple

from virtshape.api.diagnosis import walk
from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.managedfields.fieldset import FieldSet, difference, format_fields, intersection, paths, union
from virtshape.apiserver.managedfields.fieldtypes import ObjectType
from virtshape.apiserver.managedfields.lastapplied import (
    MANAGER,
    find_last_applied,
    owned_by_last_applied,
    with_last_applied,
)
from virtshape.apiserver.managedfields.managedfields import (
    FieldManager,
    entries_of,
    find_entry,
    make_entry,
    record_change,
    remove_fields,
    sort_entries,
)
from virtshape.apiserver.managedfields.merging import merge, prune
from virtshape.apiserver.managedfields.ownership import (
    Change,
    RepeatedItemError,
    compare,
    declare,
    find_repeated,
    owned_part,
)

_BEFORE_FIRST_APPLY: Final = "before-first-apply"


class _Conflict(NamedTuple):
    """Fields of another manager that an apply would change, and the managedFields entry of that manager."""

    entry: JsonObject
    fields: FieldSet


def validate_apply_body(applied: JsonObject, kind: Kind) -> None:
    """Raise StatusError if a body cannot be applied to any object of this kind."""
    api_version, name = applied.get("apiVersion") or "", applied.get("kind") or ""
    if (api_version, name) != (kind.api_version, kind.kind):
        raise StatusError(400, "BadRequest", f"invalid object type: {_format_type(api_version, name)}")
    if (applied.get("metadata") or {}).get("managedFields") is not None:
        raise StatusError(400, "BadRequest", "metadata.managedFields must be nil")


def find_undeclared(applied: JsonObject, kind: Kind) -> StatusError | None:
    """Return the error for unknown fields in an applied object, or None if it has none; this check is slow."""
    unknown = [at for at, problem in walk(applied, kind.struct) if problem.rule == "unknown-field"]
    if not unknown:
        return None
    steps = ["".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in at) for at in unknown]
    return typed_patch_error(applied, [f"{path}: field not declared in schema" for path in steps])


def typed_patch_error(applied: JsonObject, problems: list[str]) -> StatusError:
    """Return the error for an applied object that does not match its schema; its code is 500, as in Kubernetes."""
    text = problems[0] if len(problems) == 1 else "\n  ".join(["errors:", *problems])
    metadata = applied.get("metadata") or {}
    name = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}"
    what = f"{name}; {_format_type(applied['apiVersion'], applied['kind'])}"
    return StatusError(500, "", f"failed to create typed patch object ({what}): {text}")


def apply(
    live: JsonObject | None, applied: JsonObject, manager: FieldManager, kind: ObjectType, *, force: bool = False
) -> JsonObject:
    """
    Return the object after an apply, with its managedFields; `live` is None for a new object.

    Raise StatusError if an applied list has duplicate items and, without `force`, on conflicts with other managers.
    """
    start = live if live is not None else _bare(applied)
    current = owned_part(start, kind, manager.subresource)
    config = owned_part(applied, kind, manager.subresource)
    entries = _tracked_entries(live, current, manager, kind)
    own = find_entry(entries, "Apply", manager)
    others = [entry for entry in entries if entry is not own]
    try:
        declared = declare(config, kind.fields) or {}
    except RepeatedItemError:
        raise typed_patch_error(applied, list(find_repeated(config, kind.fields))) from None
    merged: JsonObject = merge(current, config, kind.fields)
    if own is not None:
        merged = _drop_abandoned(merged, difference(own["fieldsV1"], declared), [declared, *map(_fields, others)], kind)
    change = compare(current, merged, kind.fields)
    if not force and (conflicts := _find_conflicts(start, others, change, manager, kind)):
        raise _conflict_error(conflicts)
    recorded = remove_fields(others, change, kind)
    if declared:
        recorded.append(_make_own_entry(own, declared, change, manager))
    if manager.name == MANAGER and find_last_applied(merged):
        annotations = with_last_applied(merged["metadata"]["annotations"], applied)
        merged = {**merged, "metadata": {**merged["metadata"], "annotations": annotations}}
    return _assemble(start, current, merged, sort_entries(recorded))


def _bare(applied: JsonObject) -> JsonObject:
    metadata = applied.get("metadata") or {}
    named = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    return {"apiVersion": applied["apiVersion"], "kind": applied["kind"], "metadata": named}


def _tracked_entries(
    live: JsonObject | None, current: JsonObject, manager: FieldManager, kind: ObjectType
) -> list[JsonObject]:
    """Return the entries before an apply; if there are none, the manager `before-first-apply` owns all fields."""
    entries = entries_of(live)
    if live is None or entries:
        return entries
    return record_change([], compare({}, current, kind.fields), manager._replace(name=_BEFORE_FIRST_APPLY), kind)


def _drop_abandoned(merged: JsonObject, abandoned: FieldSet, owned: list[FieldSet], kind: ObjectType) -> JsonObject:
    if not abandoned:
        return merged
    kept: FieldSet = {}
    for fields in owned:
        kept = union(kept, fields)
    pruned: JsonObject = prune(merged, kind.fields, abandoned, kept)
    return pruned


def _make_own_entry(own: JsonObject | None, declared: FieldSet, change: Change, manager: FieldManager) -> JsonObject:
    entry = make_entry("Apply", declared, manager)
    if own is not None and own["fieldsV1"] == declared and change == (None, None) and "time" in own:
        entry["time"] = own["time"]
    return entry


def _assemble(start: JsonObject, current: JsonObject, merged: JsonObject, entries: list[JsonObject]) -> JsonObject:
    """Return `start` with the fields in `current` replaced by those in `merged`, and with these managedFields."""
    metadata, owned = start.get("metadata") or {}, current.get("metadata") or {}
    kept = {name: value for name, value in metadata.items() if name not in owned and name != "managedFields"}
    kept |= merged.get("metadata") or {}
    if entries:
        kept["managedFields"] = entries
    return {**{name: value for name, value in start.items() if name not in current}, **merged, "metadata": kept}


def _find_conflicts(
    live: JsonObject, others: list[JsonObject], change: Change, manager: FieldManager, kind: ObjectType
) -> list[_Conflict]:
    if change.taken is None:
        return []
    conflicts = [_Conflict(entry, intersection(_fields(entry), change.taken)) for entry in others]
    conflicts = [conflict for conflict in conflicts if conflict.fields]
    if conflicts and manager.name == MANAGER and find_last_applied(live):
        allowed = owned_by_last_applied(live, manager.api_version, manager.subresource, kind)
        conflicts = [_Conflict(entry, difference(fields, allowed)) for entry, fields in conflicts]
    return [conflict for conflict in conflicts if conflict.fields]


def _conflict_error(conflicts: list[_Conflict]) -> StatusError:
    conflicts = sorted(conflicts, key=lambda conflict: _describe_manager(conflict.entry))
    fields = [
        (_describe_manager(entry), [format_fields(path) for path in paths(fields)]) for entry, fields in conflicts
    ]
    causes = [
        FieldError(path, f"conflict with {manager}", "FieldManagerConflict")
        for manager, found in fields
        for path in found
    ]
    if len(causes) == 1:
        text = f"1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        lines = ["\n- ".join([f"conflicts with {manager}:", *found]) for manager, found in fields]
        text = f"{len(causes)} conflicts: " + "\n".join(lines)
    return StatusError(409, "Conflict", f"Apply failed with {text}", causes)


def _describe_manager(entry: JsonObject) -> str:
    message = json.dumps(entry["manager"], ensure_ascii=False)
    if entry.get("subresource"):
        message += f" with subresource {json.dumps(entry['subresource'])}"
    if entry["operation"] == "Update":
        message += f" using {entry['apiVersion']}"
    return message


def _fields(entry: JsonObject) -> FieldSet:
    fields: FieldSet = entry["fieldsV1"]
    return fields


def _format_type(api_version: str, kind: str) -> str:
    return f"{api_version if '/' in api_version else '/' + api_version}, Kind={kind}"
