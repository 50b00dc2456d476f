"""
`metadata.managedFields`: which manager owns which fields, and how a write changes the entries.

Entries are plain trees. A write reuses the entries that it does not change.
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
"""How many entries with operation Update an object keeps; the oldest are merged."""

_FORMER_UPDATERS: Final = "ancient-changes"
_MAX_NAME_LENGTH: Final = 128


class Write(NamedTuple):
    """The manager, API version, time and subresource of a write."""

    manager: str
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


def record_update(old: JsonObject | None, new: JsonObject, write: Write, kind: ObjectType) -> list[JsonObject]:
    """Return the entries after a create or update, but not an apply; `old` is None for a new object."""
    entries = _entries_to_start_from(old, new, write)
    if old is not None and not entries:
        return []  # an empty list disables tracking
    before = owned_part(old, kind, write.subresource) if old is not None else {}
    change = compare(before, owned_part(new, kind, write.subresource), kind.fields)
    return record_change(entries, change, write, kind)


def record_change(entries: list[JsonObject], change: Change, write: Write, kind: ObjectType) -> list[JsonObject]:
    """Return the entries after the writer has taken the changed fields from all other managers."""
    lasting = remove_fields(entries, change, kind)
    if change.taken is None:
        return lasting
    own = find_entry(lasting, "Update", write)
    taken = change.taken if own is None else union(own["fieldsV1"], change.taken)
    others = [entry for entry in lasting if entry is not own]
    return sort_entries(_limit_updaters([*others, make_entry("Update", taken, write)]))


def remove_fields(entries: list[JsonObject], change: Change, kind: ObjectType) -> list[JsonObject]:
    """Return the entries without the changed fields; drop those that become empty or have an unknown version."""
    touched = [fields for fields in change if fields is not None]
    known = (entry for entry in entries if entry["apiVersion"] in kind.api_versions)
    return [left for entry in known if (left := _without(entry, touched)) is not None]


def find_entry(entries: Iterable[JsonObject], operation: str, write: Write) -> JsonObject | None:
    """Return the writer's entry, or None; an entry with operation Apply matches in any API version."""
    for entry in entries:
        if (
            entry["manager"] == write.manager
            and entry["operation"] == operation
            and entry.get("subresource", "") == write.subresource
            and (operation == "Apply" or entry["apiVersion"] == write.api_version)
        ):
            return entry
    return None


def make_entry(operation: str, fields: FieldSet, write: Write) -> JsonObject:
    """Return an entry for these fields."""
    entry = {
        "manager": write.manager,
        "operation": operation,
        "apiVersion": write.api_version,
        "time": write.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    if write.subresource:
        entry["subresource"] = write.subresource
    return entry


def sort_entries(entries: list[JsonObject]) -> list[JsonObject]:
    """Sort entries in place and return them: first those with operation Apply, then by time."""
    if len(entries) > 1:
        entries.sort(key=_rank)
    return entries


def entries_of(tree: JsonObject | None) -> list[JsonObject]:
    """Return the entries of an object."""
    metadata: JsonObject = (tree or {}).get("metadata") or {}
    return metadata.get("managedFields") or []


def keep_times(old: JsonObject, new: JsonObject) -> None:
    """Restore the old entries if the objects differ only in the times of entries, as when admission reverts a write."""
    before, after = entries_of(old), entries_of(new)
    if before != after and [_timeless(e) for e in before] == [_timeless(e) for e in after] and _same(old, new):
        new["metadata"]["managedFields"] = before


def parse_entries(entries: object) -> list[JsonObject] | None:
    """Return the entries that a client sent; None if they are invalid."""
    try:
        parsed = [_parse_entry(entry) for entry in msgspec.convert(entries, list[ManagedFieldsEntry])]
    except (FieldSetError, msgspec.ValidationError):
        return None
    return sort_entries(list({_identity(entry): entry for entry in parsed}.values()))


def _entries_to_start_from(old: JsonObject | None, new: JsonObject, write: Write) -> list[JsonObject]:
    """Return the stored entries, or valid entries that a client sent to replace them."""
    stored, sent = entries_of(old), entries_of(new)
    if write.subresource or not sent or sent is stored or sent == stored:
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
    """Merge the oldest updaters of each version until the limit is met."""
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
            former[version] = make_entry("Update", fields, Write(_FORMER_UPDATERS, version, entry.get("time", "")))
        else:
            former[version] = entry
        merged.append(entry)
    kept = [entry for entry in entries if not any(entry is gone for gone in merged)]
    return [*kept, *former.values()]


def _parse_entry(entry: ManagedFieldsEntry) -> JsonObject:
    if entry.operation not in ("Apply", "Update") or entry.fields_type != "FieldsV1" or not entry.api_version:
        raise FieldSetError("operation, fieldsType or apiVersion is missing or unknown")
    write = Write(entry.manager or "", entry.api_version, entry.time or "", entry.subresource or "")
    parsed = make_entry(entry.operation, parse_fields(entry.fields_v1 or {}), write)
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
