"""
`metadata.managedFields`: who owns which fields, entry by entry, and what a write makes of it.

Entries stay plain trees. One that a write does not touch is the same object before and after.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from virtshape.api.meta import ManagedFieldsEntry
from virtshape.apiserver.managedfields.fieldset import FieldSet, FieldSetError, difference, parse_fields, union
from virtshape.apiserver.managedfields.fieldtypes import ObjectType
from virtshape.apiserver.managedfields.ownership import Change, Tree, compare, owned_part

Entry = dict[str, Any]

MOST_UPDATERS: Final = 10
"""How many entries of operation Update an object keeps; older ones become one."""

_FORMER_UPDATERS: Final = "ancient-changes"
_LONGEST_NAME: Final = 128


class Write(NamedTuple):
    """Who writes what, and when."""

    manager: str
    api_version: str
    time: str
    """The moment in RFC 3339, to the second."""
    subresource: str = ""


@lru_cache(maxsize=256)
def name_manager(field_manager: str, user_agent: str) -> str:
    """Name the manager of a write: as it asks for, else as its program calls itself."""
    if field_manager:
        return field_manager
    program = "".join(letter for letter in user_agent.partition("/")[0] if letter.isprintable())
    return program.encode()[:_LONGEST_NAME].decode(errors="ignore") or "unknown"


def record_update(old: Tree | None, new: Tree, write: Write, kind: ObjectType) -> list[Entry]:
    """Work out the entries of an object that was created or changed in any way but by apply; `old` is None for new."""
    entries = _entries_to_start_from(old, new, write)
    if old is not None and not entries:
        return []  # whoever emptied it wants no tracking
    before = owned_part(old, kind, write.subresource) if old is not None else {}
    change = compare(before, owned_part(new, kind, write.subresource), kind.fields)
    return record_change(entries, change, write, kind)


def record_change(entries: list[Entry], change: Change, write: Write, kind: ObjectType) -> list[Entry]:
    """Give to the writer what it changed, and take from everybody what they had of it."""
    lasting = give_up(entries, change, kind)
    if change.taken is None:
        return lasting
    own = find_entry(lasting, "Update", write)
    taken = change.taken if own is None else union(own["fieldsV1"], change.taken)
    others = [entry for entry in lasting if entry is not own]
    return sort_entries(_limit_updaters([*others, make_entry("Update", taken, write)]))


def give_up(entries: list[Entry], change: Change, kind: ObjectType) -> list[Entry]:
    """Take changed fields from all entries; those that have none left, or a version that nobody knows, go."""
    touched = [fields for fields in change if fields is not None]
    known = (entry for entry in entries if entry["apiVersion"] in kind.api_versions)
    return [left for entry in known if (left := _without(entry, touched)) is not None]


def find_entry(entries: Iterable[Entry], operation: str, write: Write) -> Entry | None:
    """Find the writer's own entry; one of operation Apply is the same at every version."""
    for entry in entries:
        if (
            entry["manager"] == write.manager
            and entry["operation"] == operation
            and entry.get("subresource", "") == write.subresource
            and (operation == "Apply" or entry["apiVersion"] == write.api_version)
        ):
            return entry
    return None


def make_entry(operation: str, fields: FieldSet, write: Write) -> Entry:
    """Put an entry together."""
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


def sort_entries(entries: list[Entry]) -> list[Entry]:
    """Put entries into the order that objects show: Apply first, then by age."""
    if len(entries) > 1:
        entries.sort(key=_rank)
    return entries


def entries_of(tree: Tree | None) -> list[Entry]:
    """Read the entries that an object carries."""
    metadata: Tree = (tree or {}).get("metadata") or {}
    return metadata.get("managedFields") or []


def keep_times(old: Tree, new: Tree) -> None:
    """Put the old entries back if nothing but their times is different, as after a write that admission undid."""
    before, after = entries_of(old), entries_of(new)
    if before != after and [_timeless(e) for e in before] == [_timeless(e) for e in after] and _same(old, new):
        new["metadata"]["managedFields"] = before


def parse_entries(entries: object) -> list[Entry] | None:
    """Read the entries that a client sent; None if they are no such thing."""
    try:
        parsed = [_parse_entry(entry) for entry in msgspec.convert(entries, list[ManagedFieldsEntry])]
    except (FieldSetError, msgspec.ValidationError):
        return None
    return sort_entries(list({_identity(entry): entry for entry in parsed}.values()))


def _entries_to_start_from(old: Tree | None, new: Tree, write: Write) -> list[Entry]:
    """Choose between what is stored and what a client sent, which may edit the entries of the object itself."""
    stored, sent = entries_of(old), entries_of(new)
    if write.subresource or not sent or sent is stored or sent == stored:
        return stored
    if sent == [{}]:
        return []
    return parse_entries(sent) or stored


def _without(entry: Entry, touched: list[FieldSet]) -> Entry | None:
    fields: FieldSet = entry["fieldsV1"]
    for gone in touched:
        fields = difference(fields, gone)
    if fields is entry["fieldsV1"]:
        return entry
    return {**entry, "fieldsV1": fields} if fields else None


def _limit_updaters(entries: list[Entry]) -> list[Entry]:
    """Put the oldest updaters of each version together until there are few enough."""
    updaters = [entry for entry in entries if entry["operation"] == "Update"]
    surplus = len(updaters) - MOST_UPDATERS
    if surplus <= 0:
        return entries
    former: dict[str, Entry] = {}
    merged: list[Entry] = []
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


def _parse_entry(entry: ManagedFieldsEntry) -> Entry:
    if entry.operation not in ("Apply", "Update") or entry.fields_type != "FieldsV1" or not entry.api_version:
        raise FieldSetError("operation, fieldsType or apiVersion is missing or unknown")
    write = Write(entry.manager or "", entry.api_version, entry.time or "", entry.subresource or "")
    parsed = make_entry(entry.operation, parse_fields(entry.fields_v1 or {}), write)
    return parsed if entry.time else {name: value for name, value in parsed.items() if name != "time"}


def _rank(entry: Entry) -> tuple[str, ...]:
    return (entry["operation"], entry.get("time") or "", *_identity(entry))


def _age(entry: Entry) -> tuple[str, bool, str]:
    return (entry.get("time") or "", entry["manager"] != _FORMER_UPDATERS, entry["manager"])


def _identity(entry: Entry) -> tuple[str, ...]:
    return (
        entry["manager"],
        entry["operation"],
        entry["apiVersion"] if entry["operation"] == "Update" else "",
        entry.get("subresource") or "",
    )


def _timeless(entry: Entry) -> Entry:
    return {name: value for name, value in entry.items() if name != "time"}


def _same(old: Tree, new: Tree) -> bool:
    return _without_traces(old) == _without_traces(new)


def _without_traces(tree: Tree) -> Tree:
    metadata = tree.get("metadata") or {}
    traces = ("managedFields", "resourceVersion")
    return {**tree, "metadata": {name: value for name, value in metadata.items() if name not in traces}}
