"""
Create shared revisions, add the VMs that use them as owners, and remove VMs that no longer use them.

A VM becomes an owner of a revision before it refers to the revision, and stops being an owner after it refers to
another revision. The garbage collector deletes a revision with its last owner. VMs that are reconciled at the same time
are added with one request.
"""

import itertools
import logging
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from virtshape.api.apps import ControllerRevision
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.client.cache import Change, ObjectKey, key_of
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.batch import Batches
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.vm.revisionobjects import Source
from virtshape.controllers.vm.sharedrevisionobjects import (
    BY_OWNER,
    MAX_OWNERS,
    build_shared_revision,
    drop_owners,
    is_name_of_shared_revision,
    is_shared,
    is_shared_copy,
    name_shared_revision,
    write_former_owners,
    write_new_owners,
)
from virtshape.resolve.find import namespace_of
from virtshape.resolve.revisions import canonicalize

MAX_REMEMBERED: Final = 2_000
MAX_CONTENTS: Final = 1_000
_ATTEMPTS: Final = 5
_NOT_FOUND, _CONFLICT, _INVALID = 404, 409, 422
_log = logging.getLogger(__name__)

K = TypeVar("K")
V = TypeVar("V")


class _State(Struct, frozen=True):
    """What this process knows about a shared revision."""

    uid: str
    owners: int
    is_shared: bool
    """False if a user created another revision under the name of a shared one."""
    is_deleted: bool


class _Candidate(Struct, frozen=True):
    """A VM that needs a shared revision of an object."""

    vm: VirtualMachine
    source: Source


class SharedRevisions:
    """Shared revisions of all namespaces; `observe` must be called for each change to a revision."""

    def __init__(self, client: Client, cache: Cache) -> None:
        self._client = client
        self._cache = cache
        self._states: dict[ObjectKey, _State] = {}
        self._contents: OrderedDict[str, ControllerRevision] = OrderedDict()
        """Revisions by UID, without owners. The data of a revision never changes."""
        self._verified: OrderedDict[str, bool] = OrderedDict()
        """Whether the revision with this UID is a copy of the object that its name states."""
        self._added: OrderedDict[str, dict[ObjectKey, str]] = OrderedDict()
        """Names and UIDs of the revisions to which a VM was added as an owner, even if the cache lacks this owner."""
        self._obtaining: Batches[ObjectKey, _Candidate, ControllerRevision] = Batches(self._obtain_all)
        self._adding: Batches[ObjectKey, VirtualMachine, bool] = Batches(self._add_all)
        self._removing: Batches[ObjectKey, VirtualMachine, None] = Batches(self._remove_all)

    def observe(self, change: Change[ControllerRevision]) -> None:
        """Update the state of a shared revision."""
        key = key_of(change.item)
        if change.type == "DELETED":
            self._states.pop(key, None)
        elif is_shared(change.item) or key in self._states:
            self._note(change.item)
            for owner in change.item.metadata.owner_references or ():
                self._forget(owner.uid, key)

    def is_known(self, name: str, namespace: str) -> bool:
        """Return True if there is a shared revision with this name."""
        state = self._states.get(ObjectKey(namespace, name))
        return state is not None and state.is_shared

    def find_content(self, name: str, namespace: str) -> ControllerRevision | None:
        """Return a shared revision without its owners if it was read before, or None."""
        state = self._states.get(ObjectKey(namespace, name))
        return self._contents.get(state.uid) if state is not None else None

    def keep_content(self, revision: ControllerRevision) -> ControllerRevision:
        """Store the content of a shared revision for `find_content`; return the revision without its owners."""
        content = drop_owners(revision)
        remember(self._contents, content.metadata.uid or "", content, MAX_CONTENTS)
        return content

    def is_owner(self, vm: VirtualMachine, name: str) -> bool:
        """Return True if the VM is an owner of the shared revision with this name."""
        return ObjectKey(namespace_of(vm), name) in self._list_owned(vm)

    async def obtain(self, vm: VirtualMachine, source: Source) -> ControllerRevision:
        """Make the VM an owner of a shared revision of the object; return the revision without its owners."""
        family = ObjectKey(namespace_of(vm), name_shared_revision(source))
        return await self._obtaining.run(family, _Candidate(vm, source))

    async def add_owner(self, vm: VirtualMachine, name: str) -> bool:
        """Make the VM an owner of the shared revision that it refers to; return False if there is no such revision."""
        return self.is_owner(vm, name) or await self._adding.run(ObjectKey(namespace_of(vm), name), vm)

    async def release(self, vm: VirtualMachine, keep: Collection[str] = ()) -> None:
        """Remove the VM from the owners of shared revisions not in `keep`; delete revisions without other owners."""
        for key in self._list_owned(vm):
            if key.name not in keep:
                await self._removing.run(key, vm)
                self._forget(vm.metadata.uid or "", key)

    def _list_owned(self, vm: VirtualMachine) -> set[ObjectKey]:
        """Return the names of the shared revisions that the VM owns."""
        uid, namespace = vm.metadata.uid or "", namespace_of(vm)
        cached = self._cache.find_keys_by(ControllerRevision, BY_OWNER, uid)
        owned = {key for key in cached if key.namespace == namespace}
        for key, revision_uid in self._added.get(uid, {}).items():
            state = self._states.get(key)
            if state is not None and state.uid == revision_uid:
                owned.add(key)
        return owned

    async def _obtain_all(self, family: ObjectKey, candidates: Sequence[_Candidate]) -> list[ControllerRevision]:
        source = candidates[0].source
        waiting = {one.vm.metadata.uid or "": one.vm for one in candidates}
        found: dict[str, ControllerRevision] = {}

        async def use(key: ObjectKey, vms: Sequence[VirtualMachine]) -> None:
            content = await self._fill(key, source, vms)
            if content is not None:
                found.update((vm.metadata.uid or "", content) for vm in vms)

        for key, vms in self._group_by_owned(source, waiting.values()).items():
            await use(key, vms)
        for number in itertools.count(1):
            left = [vm for uid, vm in waiting.items() if uid not in found]
            if not left:
                break
            key = ObjectKey(family.namespace, name_shared_revision(source, number))
            state = self._states.get(key)
            room = MAX_OWNERS - (state.owners if state is not None else 0)
            if room > 0:
                await use(key, left[:room])
        return [found[one.vm.metadata.uid or ""] for one in candidates]

    def _group_by_owned(self, source: Source, vms: Iterable[VirtualMachine]) -> dict[ObjectKey, list[VirtualMachine]]:
        """Return the VMs that own a revision of the object already, by the name of the revision."""
        groups: dict[ObjectKey, list[VirtualMachine]] = {}
        for vm in vms:
            owned = sorted(key for key in self._list_owned(vm) if is_name_of_shared_revision(key.name, source))
            for key in owned[:1]:
                groups.setdefault(key, []).append(vm)
        return groups

    async def _fill(
        self, key: ObjectKey, source: Source, owners: Sequence[VirtualMachine]
    ) -> ControllerRevision | None:
        """Return the revision with this name after adding the owners, or None if it cannot be used for the object."""
        for _ in range(_ATTEMPTS):
            content = await self._find_verified(key, source)
            if content is None and key in self._states:
                return None
            if content is None:
                content = await self._create(key, source, owners)
            elif not await self._write_owners(key, owners):
                content = None  # the revision was deleted in the meantime
            if content is not None:
                return content
        raise StatusError(_CONFLICT, "Conflict", f"ControllerRevision {key} was deleted {_ATTEMPTS} times while in use")

    async def _find_verified(self, key: ObjectKey, source: Source) -> ControllerRevision | None:
        """Return the existing revision with this name if it is a copy of the object and not being deleted, or None."""
        state = self._states.get(key)
        if state is None or state.is_deleted:
            return None
        content = self._contents.get(state.uid)
        if content is None or state.uid not in self._verified:
            revision = await self._find(key)
            if revision is None:
                return None
            is_copy = is_shared_copy(revision, source)
            if not is_copy:
                _log.warning(
                    "ControllerRevision %s differs from the current %s %s; storing another revision instead",
                    key,
                    source.kind,
                    source.metadata.name,
                )
            remember(self._verified, revision.metadata.uid or "", is_copy, MAX_CONTENTS)
            content = self.keep_content(revision)
        return content if self._verified[content.metadata.uid or ""] else None

    async def _create(
        self, key: ObjectKey, source: Source, owners: Sequence[VirtualMachine]
    ) -> ControllerRevision | None:
        """Create a revision and return it; if the name is taken, read the existing revision and return None."""
        wanted = build_shared_revision(owners, source, key.name)
        try:
            created = await self._client.create(canonicalize(wanted))
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
            await self._find(key)
            return None
        self._note_owners(created, owners)
        remember(self._verified, created.metadata.uid or "", True, MAX_CONTENTS)
        return self.keep_content(created)

    async def _add_all(self, key: ObjectKey, vms: Sequence[VirtualMachine]) -> list[bool]:
        return [await self._write_owners(key, vms)] * len(vms)

    async def _write_owners(self, key: ObjectKey, vms: Sequence[VirtualMachine]) -> bool:
        """Add owners to a known revision; return False if the revision was deleted."""
        added = [vm for vm in vms if not self.is_owner(vm, key.name)]
        if not added:
            return True
        if key not in self._states and await self._find(key) is None:
            return False
        patch = write_new_owners(self._states[key].uid, added)
        try:
            changed = await self._client.patch(
                ControllerRevision, key.name, key.namespace, patch=patch, how="strategic"
            )
        except StatusError as error:
            if error.code not in (_NOT_FOUND, _CONFLICT, _INVALID):
                raise
            if (current := await self._find(key)) is not None and current.metadata.uid == patch["metadata"]["uid"]:
                raise
            return False
        self._note_owners(changed, added)
        return True

    async def _remove_all(self, key: ObjectKey, vms: Sequence[VirtualMachine]) -> list[None]:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._remove_owners(key, {vm.metadata.uid or "" for vm in vms})
            except StatusError as error:
                if error.code == _CONFLICT and attempt < _ATTEMPTS:
                    continue  # the garbage collector or another VM changed the owners
                if error.code != _NOT_FOUND:
                    raise
            break
        return [None] * len(vms)

    async def _remove_owners(self, key: ObjectKey, uids: Collection[str]) -> None:
        """
        Remove owners from a revision, or delete the revision if it has no other owners.

        The garbage collector never deletes an object without owner references. Therefore both requests fail if the
        revision was changed in the meantime.
        """
        revision = await self._find(key)
        owners = {owner.uid for owner in (revision.metadata.owner_references or ())} if revision is not None else set()
        if revision is None or owners.isdisjoint(uids):
            return
        metadata = revision.metadata
        if owners <= set(uids):
            await self._client.delete(
                ControllerRevision,
                key.name,
                key.namespace,
                uid=metadata.uid or "",
                revision=metadata.resource_version or "",
            )
            self._states.pop(key, None)
        else:
            patch = write_former_owners(revision, owners.intersection(uids))
            self._note(
                await self._client.patch(ControllerRevision, key.name, key.namespace, patch=patch, how="strategic")
            )

    async def _find(self, key: ObjectKey) -> ControllerRevision | None:
        """Return the revision with this name from the server, or None; update its local state."""
        try:
            revision = await self._client.get(ControllerRevision, key.name, key.namespace)
        except StatusError as error:
            if error.code != _NOT_FOUND:
                raise
            self._states.pop(key, None)
            return None
        self._note(revision)
        return revision

    def _note(self, revision: ControllerRevision) -> None:
        metadata = revision.metadata
        self._states[key_of(revision)] = _State(
            uid=metadata.uid or "",
            owners=len(metadata.owner_references or ()),
            is_shared=is_shared(revision),
            is_deleted=metadata.deletion_timestamp is not None,
        )

    def _forget(self, vm: str, key: ObjectKey) -> None:
        """Forget that the VM with this UID was added to a revision."""
        added = self._added.get(vm)
        if added is not None:
            added.pop(key, None)
            if not added:
                del self._added[vm]

    def _note_owners(self, revision: ControllerRevision, owners: Sequence[VirtualMachine]) -> None:
        self._note(revision)
        for vm in owners:
            uid = vm.metadata.uid or ""
            added = {**self._added.get(uid, {}), key_of(revision): revision.metadata.uid or ""}
            remember(self._added, uid, added, MAX_REMEMBERED)


def remember(known: OrderedDict[K, V], key: K, value: V, limit: int) -> None:
    """Add an item to a dictionary; remove the oldest item if there are more than `limit`."""
    known[key] = value
    if len(known) > limit:
        known.popitem(last=False)
