"""
Compare the objects of an import plan with those on the server: what differs, what to write, and which owners to set.

The functions are pure. `virtshape import` and the API that previews imports use them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from virtshape.api.apps import ControllerRevision
from virtshape.api.core.config import Secret
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta, OwnerReference
from virtshape.engine.compare import Change, compare_values
from virtshape.offline.importplan import Dropped, Step
from virtshape.resolve.matcher import KINDS, Matcher, Role, find_matcher
from virtshape.resolve.reference import Reference
from virtshape.resolve.revisions import canonicalize


class Owners(NamedTuple):
    """The owner references of an object; `wanted` is None if they need not be changed."""

    wanted: list[OwnerReference] | None
    dropped: list[Dropped]
    """Owners that were not imported."""


def compare_imported(wanted: Any, stored: Any, *, stated_only: bool = False) -> list[Change]:
    """
    Return the fields that differ between the planned and the stored object, except those that the server sets.

    With `stated_only`, fields that the planned object does not set, such as defaults, are omitted. The values of
    Secrets are masked, as in `kubectl diff`.
    """
    changes: list[Change] = []
    for part in ("labels", "annotations"):
        then, now = getattr(wanted.metadata, part) or {}, getattr(stored.metadata, part) or {}
        changes += compare_values(then, now, f"metadata.{part}")
    for name, wire_name in zip(wanted.__struct_fields__, wanted.__struct_encode_fields__, strict=True):
        if name not in ("api_version", "kind", "metadata", "status"):
            changes += compare_values(getattr(wanted, name), getattr(stored, name), wire_name)
    if isinstance(wanted, Secret):
        changes = [Change(change.field, *map(_mask, change[1:])) for change in changes]
    return [change for change in changes if not stated_only or not _is_expected(change)]


def _is_expected(change: Change) -> bool:
    """Return True if the server set a field that was absent, or replaced inferFromVolume with what it inferred."""
    is_inferred = change.now is None and ".inferFromVolume" in change.field
    return change.then in (None, []) or is_inferred


def _mask(value: object) -> str | None:
    return None if value is None else "***"


def get_body(item: Any) -> Any:
    """Return a planned object as it is sent to the server."""
    return canonicalize(item) if isinstance(item, ControllerRevision) else item


def follow_upgrades(wanted: Any, stored: Any, successors: Mapping[str, str]) -> Any:
    """Replace revisions in a planned VM that were upgraded after an earlier import; return other objects unchanged."""
    for role, matcher, current in _list_other_revisions(wanted, stored):
        if current == successors.get(matcher.revision_name or ""):
            matcher = replace(matcher, revision_name=current)
            wanted = replace(wanted, spec=replace(wanted.spec, **{role: matcher}))
    return wanted


def has_other_revisions(wanted: Any, stored: Any) -> bool:
    """Return True if a planned VM and the stored VM refer to different revisions."""
    return any(True for _ in _list_other_revisions(wanted, stored))


def _list_other_revisions(wanted: Any, stored: Any) -> Iterator[tuple[Role, Matcher, str | None]]:
    """Yield the role and the planned matcher of each revision that differs, and the name of the stored revision."""
    for role in KINDS if isinstance(wanted, VirtualMachine) else ():
        matcher, current = find_matcher(wanted, role), find_matcher(stored, role)
        if matcher is not None and current is not None and matcher.revision_name != current.revision_name:
            yield role, matcher, current.revision_name


def merge_stored(wanted: Any, stored: Any) -> Any:
    """Return the planned object with the metadata and status of the stored one; merge labels and annotations."""
    metadata = replace(
        stored.metadata,
        labels={**(stored.metadata.labels or {}), **(wanted.metadata.labels or {})} or None,
        annotations={**(stored.metadata.annotations or {}), **(wanted.metadata.annotations or {})} or None,
    )
    status = {"status": stored.status} if hasattr(stored, "status") else {}
    return replace(wanted, metadata=metadata, **status)


def plan_owners(step: Step, stored: Mapping[Reference, ObjectMeta]) -> Owners:
    """Return the owner references of a stored object, with the UIDs that its owners have on this server."""
    imported = [(owner, stored.get(place)) for place, owner in step.owners]
    wanted = [replace(owner, uid=found.uid or "") for owner, found in imported if found is not None]
    dropped = [
        Dropped("metadata.ownerReferences", f"the {owner.kind} {owner.name} was not imported")
        for owner, found in imported
        if found is None
    ]
    existing = stored[step.reference].owner_references or []
    owners = merge_owners(existing, wanted)
    return Owners(owners if owners != existing else None, dropped)


def merge_owners(existing: Sequence[OwnerReference], wanted: Sequence[OwnerReference]) -> list[OwnerReference]:
    """Return existing and wanted owners; a wanted owner with a new UID replaces those of the same kind and name."""
    uids = {owner.uid for owner in existing}
    added = [owner for owner in wanted if owner.uid not in uids]
    replaced = {(owner.kind, owner.name) for owner in added}
    return [*(owner for owner in existing if (owner.kind, owner.name) not in replaced), *added]
