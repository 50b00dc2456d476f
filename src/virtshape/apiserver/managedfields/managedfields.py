"""
`metadata.managedFields`: which manager owns which fields, and how a write changes the entries.

Entries are plain dicts. A write reuses the entries that it does not change.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from virtshape.api.meta import ManagedFieldsEntry
from virtshape.api.model import JsonObject
from virtshape.apiserver.managedfields.fieldset import FieldSet, FieldSetError, difference, parse_fields, union
from virtshape.apiserver.managedfields.fieldtypes import ObjectType
from virtshape.apiserver.managedfields.ownership import Change, compare, owned_part

MAX_UPDATERS: Final = 10
"""Maximum number of entries with operation Update in an object; if there are more, the oldest are merged."""

_FORMER_UPDATERS: Final = "ancient-changes"
_MAX_NAME_LENGTH: Final = 128


class FieldManager(NamedTuple):
    """A field manager, with the API version, time and subresource of its write."""

    name: str
    api_version: str
    time: str
    """The time in RFC 3339, to the second."""
    subresource: str = ""


@lru_cache(maxsize=256)
def name_manager(field_manager: str, user_agent: str) -> str:
    """Return the manager of a write: the requested name, or else the program in the User-Agent."""
    if field_manager:
        return field_manager
    program = "".join(letter for letter in user_agent.partition("/")[0] if letter.isprintable())
    return program.encode()[:_MAX_NAME_LENGTH].decode(errors="ignore") or "unknown"


def record_update(old: JsonObject | None, new: JsonObject, manager: FieldManager, kind: ObjectType) -> list[JsonObject]:
    """Return the entries after a write other than an apply; `old` is None for a new object."""
    entries = _entries_to_start_from(old, new, manager)
    if old is not None and not entries:
        return []  # an empty list in the object disables tracking
    before = owned_part(old, kind, manager.subresource) if old is not None else {}
    change = compare(before, owned_part(new, kind, manager.subresource), kind.fields)
    return record_change(entries, change, manager, kind)


def record_change(
    entries: list[JsonObject], change: Change, manager: FieldManager, kind: ObjectType
) -> list[JsonObject]:
    """Return the entries after a write: the manager owns the fields that it changed; other managers lose them."""
    lasting = remove_fields(entries, change, kind)
    if change.taken is None:
        return lasting
    own = find_entry(lasting, "Update", manager)
    taken = change.taken if own is None else union(own["fieldsV1"], change.taken)
    others = [entry for entry in lasting if entry is not own]
    return sort_entries(_limit_updaters([*others, make_entry("Update", taken, manager)]))


def remove_fields(entries: list[JsonObject], change: Change, kind: ObjectType) -> list[JsonObject]:
    """Return the entries without the changed fields; drop entries that become empty or have an unknown version."""
    touched = [fields for fields in change if fields is not None]
    known = (entry for entry in entries if entry["apiVersion"] in kind.api_versions)
    return [left for entry in known if (left := _without(entry, touched)) is not None]


def find_entry(entries: Iterable[JsonObject], operation: str, manager: FieldManager) -> JsonObject | None:
    """Return the manager's entry for this operation, or None; an Apply entry may have any API version."""
    for entry in entries:
        if (
            entry["manager"] == manager.name
            and entry["operation"] == operation
            and entry.get("subresource", "") == manager.subresource
            and (operation == "Apply" or entry["apiVersion"] == manager.api_version)
        ):
            return entry
    return None


def make_entry(operation: str, fields: FieldSet, manager: FieldManager) -> JsonObject:
    """Return a managedFields entry for these fields."""
    entry = {
        "manager": manager.name,
        "operation": operation,
        "apiVersion": manager.api_version,
        "time": manager.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def sort_entries(entries: list[JsonObject]) -> list[JsonObject]:
    """Sort entries in place and return them: first by operation (Apply before Update), then by time."""
    if len(entries) > 1:
        entries.sort(key=_rank)
    return entries


def entries_of(tree: JsonObject | None) -> list[JsonObject]:
    """Return the managedFields entries of an object."""
    metadata: JsonObject = (tree or {}).get("metadata") or {}
    return metadata.get("managedFields") or []


def keep_times(old: JsonObject, new: JsonObject) -> None:
    """Restore the old entries in `new` if only the times of entries differ, as when admission reverts a write."""
    before, after = entries_of(old), entries_of(new)
    if before != after and [_timeless(e) for e in before] == [_timeless(e) for e in after] and _same(old, new):
        new["metadata"]["managedFields"] = before


def parse_entries(entries: object) -> list[JsonObject] | None:
    """Parse managedFields entries from a client; return None for invalid entries."""
    try:
        parsed = [_parse_entry(entry) for entry in msgspec.convert(entries, list[ManagedFieldsEntry])]
    except (FieldSetError, msgspec.ValidationError):
        return None
    return sort_entries(list({_identity(entry): entry for entry in parsed}.values()))


def _entries_to_start_from(old: JsonObject | None, new: JsonObject, manager: FieldManager) -> list[JsonObject]:
    """Return the stored entries, or valid entries that a client sent to replace them."""
    stored, sent = entries_of(old), entries_of(new)
    if manager.subresource or not sent or sent is stored or sent == stored:
        return stored
    if sent == [{}]:
        return []
    return parse_entries(sent) or stored


def _without(entry: JsonObject, touched: list[FieldSet]) -> JsonObject | None:
    fields: FieldSet = entry["fieldsV1"]
    for gone in touched:
        fields = difference(fields, gone)
    if fields is entry["fieldsV1"]:
        return entry
    return {**entry, "fieldsV1": fields} if fields else None


def _limit_updaters(entries: list[JsonObject]) -> list[JsonObject]:
    """Merge the oldest Update entries of each API version until at most MAX_UPDATERS are left."""
    updaters = [entry for entry in entries if entry["operation"] == "Update"]
    surplus = len(updaters) - MAX_UPDATERS
    if surplus <= 0:
        return entries
    former: dict[str, JsonObject] = {}
    merged: list[JsonObject] = []
    for entry in sorted(updaters, key=_age):
        if not surplus:
            break
        version = entry["apiVersion"]
        if version in former:
            surplus -= 1
            fields = union(former[version]["fieldsV1"], entry["fieldsV1"])
            former[version] = make_entry(
                "Update", fields, FieldManager(_FORMER_UPDATERS, version, entry.get("time", ""))
            )
        else:
            former[version] = entry
        merged.append(entry)
    kept = [entry for entry in entries if not any(entry is gone for gone in merged)]
    return [*kept, *former.values()]


def _parse_entry(entry: ManagedFieldsEntry) -> JsonObject:
    if entry.operation not in ("Apply", "Update") or entry.fields_type != "FieldsV1" or not entry.api_version:
        raise FieldSetError("operation, fieldsType or apiVersion is missing or unknown")
    manager = FieldManager(entry.manager or "", entry.api_version, entry.time or "", entry.subresource or "")
    parsed = make_entry(entry.operation, parse_fields(entry.fields_v1 or {}), manager)
    return parsed if entry.time else {name: value for name, value in parsed.items() if name != "time"}


def _rank(entry: JsonObject) -> tuple[str, ...]:
    return (entry["operation"], entry.get("time") or "", *_identity(entry))


def _age(entry: JsonObject) -> tuple[str, bool, str]:
    return (entry.get("time") or "", entry["manager"] != _FORMER_UPDATERS, entry["manager"])


def _identity(entry: JsonObject) -> tuple[str, ...]:
    return (
        entry["manager"],
        entry["operation"],
        entry["apiVersion"] if entry["operation"] == "Update" else "",
        entry.get("subresource") or "",
    )


def _timeless(entry: JsonObject) -> JsonObject:
    return {name: value for name, value in entry.items() if name != "time"}


def _same(old: JsonObject, new: JsonObject) -> bool:
    return _without_traces(old) == _without_traces(new)


def _without_traces(tree: JsonObject) -> JsonObject:
    metadata = tree.get("metadata") or {}
    traces = ("managedFields", "resourceVersion")
    return {**tree, "metadata": {name: value for name, value in metadata.items() if name not in traces}}
