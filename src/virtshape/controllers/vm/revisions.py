"""
Create the revisions of VMs, pin VMs to them, upgrade old revisions and remove superseded revisions.

Names of revisions are written to the spec, or only to the status if the configuration says so. Every step can be
repeated after a crash. The caller writes all other status fields last; if a crash prevents this, the VM is processed
again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import duplicate
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine, VirtualMachineStatus
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.api.wellknown import OBJECT_NAME_LABEL
from virtshape.client.cache import Change
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.cache import Cache, struct_of
from virtshape.controllers.vm.revisionobjects import (
    ROLES,
    Origin,
    build_revision,
    build_start_revision,
    get_origin,
    is_removable,
    name_revision,
    name_start_revision,
    pin,
    refer_to_revisions,
    require_same_content,
    unmark,
    wants_expansion,
    writes_spec,
)
from virtshape.controllers.vm.revisionupgrade import build_upgrade, needs_upgrade
from virtshape.controllers.vm.sharedrevisionobjects import is_name_of_shared_revision, is_shared, shares_revisions
from virtshape.controllers.vm.sharedrevisions import SharedRevisions, remember
from virtshape.engine.expand import Shape, expand_vm
from virtshape.resolve.find import get_shape, namespace_of, refer
from virtshape.resolve.matcher import Matcher, Role, find_matcher, find_status_ref, full_kind, list_recaptured
from virtshape.resolve.reference import NotFoundError, Reference
from virtshape.resolve.revisions import canonicalize, find_superseded

Names = Mapping[Role, str]
MAX_CACHED: Final = 2_000


class Revisions:
    """
    Keeps VMs and their revisions in sync; caches new revisions until the VM's status refers to them.

    This object also records which revisions need no upgrade: clients may write other revision names to the status
    without changing the generation.
    """

    def __init__(self, client: Client, cache: Cache) -> None:
        self._client = client
        self._cache = cache
        self._cached: OrderedDict[tuple[str, str], ControllerRevision] = OrderedDict()
        self._checked: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._shared = SharedRevisions(client, cache)

    def observe(self, change: Change[ControllerRevision]) -> None:
        """Update the local state of shared revisions; must be called for each change to a revision."""
        self._shared.observe(change)

    async def ensure_revisions(
        self, vm: VirtualMachine, configuration: KubeVirtConfiguration | None, finalizer: str
    ) -> tuple[VirtualMachine, Names]:
        """
        Capture and pin all revisions of the VM, or expand the VM if the reference policy requires it.

        Return the VM, which is written only if it has changed, and the names of its revisions by role.
        """
        instancetype = configuration.instancetype if configuration else None
        if wants_expansion(vm, instancetype.reference_policy if instancetype else None):
            return await self._expand(vm, configuration, finalizer), {}
        in_spec = writes_spec(configuration)
        is_current = has_current_revisions(vm, in_spec=in_spec) and (in_spec or self._are_checked(vm))
        if is_current and await self._are_stored(vm):
            for name in list_pinned_revisions(vm).values():
                self._cached.pop((_uid(vm), name), None)
            return await self._write(vm, with_finalizer(vm, finalizer)), list_pinned_revisions(vm)
        matchers = {role: matcher for role in ROLES if (matcher := find_matcher(vm, role)) is not None}
        sharing = shares_revisions(configuration)
        obtained = await asyncio.gather(
            *(self._obtain(vm, role, matcher, in_spec=in_spec, sharing=sharing) for role, matcher in matchers.items())
        )
        revisions = dict(zip(matchers, obtained, strict=True))
        for revision in obtained:
            remember(self._cached, (_uid(vm), _name(revision)), revision, MAX_CACHED)
        names: dict[Role, str] = {role: _name(revision) for role, revision in revisions.items()}
        vm = await self._name_revisions(vm, names, finalizer, in_spec=in_spec)
        for revision in revisions.values():
            superseded = find_superseded(revision)
            if superseded:
                await self._remove(vm, superseded)
            remember(self._checked, (_uid(vm), _name(revision)), None, MAX_CACHED)
        await self._shared.release(vm, keep=names.values())
        return vm, names

    async def _name_revisions(
        self, vm: VirtualMachine, names: Names, finalizer: str, *, in_spec: bool
    ) -> VirtualMachine:
        """Write the revision names and the finalizer to the VM, remove the recapture annotation, and return the VM."""
        if in_spec:
            return await self._write(vm, with_finalizer(pin(vm, names), finalizer))
        status = refer_to_revisions(vm, names)
        if status != (vm.status or VirtualMachineStatus()):
            # The size is computed again, because the generation does not show that the revisions have changed.
            vm = await self._client.update_status(replace(vm, status=replace(status, effective=None)))
        return await self._write(vm, with_finalizer(unmark(vm), finalizer))

    async def _are_stored(self, vm: VirtualMachine) -> bool:
        """
        Return True if the revisions of the VM exist, and False if a deleted shared revision can be stored again.

        Raise NotFoundError for other deleted revisions. Only revisions that are not cached are requested. If a client
        removed the VM from the owners of a shared revision, the VM is added again.
        """
        namespace = namespace_of(vm)
        for role, name in list_pinned_revisions(vm).items():
            is_known = self._shared.is_known(name, namespace)
            if self._shared.is_owner(vm, name) if is_known else self._cache.find(ControllerRevision, name, namespace):
                continue
            try:
                await self._get_own_revision(vm, name, f"spec.{role}.revisionName")
            except NotFoundError:
                if await self._find_shared_source(vm, role, name) is None:
                    raise
                return False
        return True

    def _are_checked(self, vm: VirtualMachine) -> bool:
        return all((_uid(vm), name) in self._checked for name in list_pinned_revisions(vm).values())

    async def get_shape(self, vm: VirtualMachine) -> Shape:
        """Return the instance type and preference of the VM, from its revisions or else from the live objects."""
        found: dict[Reference, Model] = {}
        for role in ROLES:
            matcher = find_matcher(vm, role)
            if matcher is None:
                continue
            name = list_pinned_revisions(vm).get(role)
            if name:
                reference = Reference("apps", "ControllerRevision", namespace_of(vm), name)
                revision = found[reference] = await self._get_revision(vm, name, f"spec.{role}.revisionName")
            if not name or not (matcher.revision_name or _find_object_name(revision) == matcher.name):
                found[refer(vm, role, matcher)] = await self._get_source(vm, role, matcher)
        return get_shape(vm, found.get)

    async def store_start_revision(self, vm: VirtualMachine) -> None:
        """Store the start revision and remove the revision of the previous start."""
        wanted = build_start_revision(vm)
        earlier = vm.status.observed_generation if vm.status else None
        if earlier is not None and (name := name_start_revision(vm, earlier)) != _name(wanted):
            await self._remove(vm, name)
        try:
            await self._client.create(canonicalize(wanted))
        except StatusError as error:
            if error.reason != "AlreadyExists":  # an existing revision with this name has the same content
                raise

    async def find_revision(self, vm: VirtualMachine, name: str) -> ControllerRevision | None:
        """Return the revision with this name from the server, or None."""
        try:
            return await self._client.get(ControllerRevision, name, namespace_of(vm))
        except StatusError as error:
            if error.code != 404:
                raise
            return None

    async def _obtain(
        self, vm: VirtualMachine, role: Role, matcher: Matcher, *, in_spec: bool, sharing: bool
    ) -> ControllerRevision:
        """Return the stored revision that the VM uses in this role; create or upgrade the revision if needed."""
        origin = get_origin(vm, role, matcher, in_spec=in_spec)
        if origin.where != "live":
            revision = await self._get_named_revision(vm, role, origin)
            if origin.where == "spec" and not in_spec:
                return revision  # not upgraded, because the upgraded revision would need another name in the spec
            if not in_spec or origin.where == "spec" or _find_object_name(revision) in (None, matcher.name):
                if not needs_upgrade(revision, in_spec=in_spec):
                    return revision
                upgraded = build_upgrade(vm, revision, matcher, role, in_spec=in_spec)
                return await self._store(upgraded, full_kind(matcher, role))
        source = await self._get_source(vm, role, matcher)
        if sharing:
            return await self._shared.obtain(vm, source)
        vm_name = vm.metadata.name or ""
        return await self._store(build_revision(vm, source, name_revision(vm_name, source)), full_kind(matcher, role))

    async def _get_named_revision(self, vm: VirtualMachine, role: Role, origin: Origin) -> ControllerRevision:
        """Return the revision that the VM uses; store a deleted shared revision again if the object is unchanged."""
        try:
            return await self._get_own_revision(vm, origin.revision, f"{origin.where}.{role}")
        except NotFoundError:
            source = await self._find_shared_source(vm, role, origin.revision)
            if source is None:
                raise
            return await self._shared.obtain(vm, source)

    async def _get_own_revision(self, vm: VirtualMachine, name: str, field: str) -> ControllerRevision:
        """Return the revision that the VM refers to in this field; make the VM an owner if the revision is shared."""
        revision = await self._get_revision(vm, name, field)
        if is_shared(revision) and not await self._shared.add_owner(vm, name):
            raise NotFoundError(Reference("apps", "ControllerRevision", namespace_of(vm), name), field)
        return revision

    async def _find_shared_source(self, vm: VirtualMachine, role: Role, name: str) -> Any:
        """Return the object that the VM refers to, or None if `name` is not that of a shared revision of the object."""
        matcher = find_matcher(vm, role)
        if matcher is None:
            return None
        try:
            source = await self._get_source(vm, role, matcher)
        except NotFoundError:
            return None
        return source if is_name_of_shared_revision(name, source) else None

    async def _store(self, wanted: ControllerRevision, kind: str) -> ControllerRevision:
        try:
            return await self._client.create(canonicalize(wanted))
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
        existing = await self._client.get(ControllerRevision, _name(wanted), wanted.metadata.namespace or "")
        require_same_content(existing, wanted, kind)
        return existing

    async def _get_source(self, vm: VirtualMachine, role: Role, matcher: Matcher) -> Any:
        reference = refer(vm, role, matcher)
        kind = struct_of(reference)
        found = self._cache.find(kind, reference.name, reference.namespace)
        if found is not None:
            return found
        try:
            return await self._client.get(kind, reference.name, reference.namespace)
        except StatusError as error:
            if error.code != 404:
                raise
        names = [one.metadata.name or "" for one in self._cache.list(kind, reference.namespace)]  # type: ignore[attr-defined]
        raise NotFoundError(reference, f"spec.{role}.name").suggest(names)

    async def _get_revision(self, vm: VirtualMachine, name: str, field: str) -> ControllerRevision:
        namespace = namespace_of(vm)
        kept = self._cached.get((_uid(vm), name)) or self._shared.find_content(name, namespace)
        if kept is not None:
            return kept
        revision = await self.find_revision(vm, name)
        if revision is None:
            raise NotFoundError(Reference("apps", "ControllerRevision", namespace, name), field)
        return self._shared.keep_content(revision) if is_shared(revision) else revision

    async def _expand(
        self, vm: VirtualMachine, configuration: KubeVirtConfiguration | None, finalizer: str
    ) -> VirtualMachine:
        """
        Replace the VM's references with their content, then remove its revisions; return the VM.

        Raise StatusError if the VM conflicts with its instance type.
        """
        expanded = duplicate(vm)
        conflicts = expand_vm(expanded, await self.get_shape(vm), configuration)
        if conflicts:
            message = "; ".join(conflict.message for conflict in conflicts)
            raise StatusError(422, "FailedExpand", message, conflicts)
        written = await self._write(vm, with_finalizer(expanded, finalizer))
        for name in list_pinned_revisions(vm).values():
            await self._remove(written, name)
        await self._shared.release(written)
        return written

    async def _remove(self, vm: VirtualMachine, name: str) -> None:
        self._cached.pop((_uid(vm), name), None)
        revision = await self.find_revision(vm, name)
        if revision is None or not is_removable(revision, vm):
            return
        await self._client.delete(ControllerRevision, name, namespace_of(vm), uid=revision.metadata.uid or "")

    async def _write(self, vm: VirtualMachine, wanted: VirtualMachine) -> VirtualMachine:
        return vm if wanted is vm else await self._client.update(wanted)


def has_current_revisions(vm: VirtualMachine, *, in_spec: bool = True) -> bool:
    """Return True if the status (and the spec, if `in_spec` is True) lists the revisions of the current generation."""
    generation = vm.metadata.generation
    if vm.status is None or vm.status.desired_generation != generation or list_recaptured(vm):
        return False
    return all(_agrees(vm, role, in_spec=in_spec) for role in ROLES)


def _agrees(vm: VirtualMachine, role: Role, *, in_spec: bool) -> bool:
    matcher, ref = find_matcher(vm, role), find_status_ref(vm, role)
    if matcher is None or ref is None:
        return matcher is None and ref is None
    captured = ref.controller_revision_ref
    if captured is None or not captured.name:
        return False
    if not in_spec and not matcher.revision_name:
        return ref.name == matcher.name
    return captured.name == matcher.revision_name


def list_pinned_revisions(vm: VirtualMachine) -> dict[Role, str]:
    """Return the revision names by role, from the spec or else from the status."""
    names: dict[Role, str] = {}
    for role in ROLES:
        matcher, ref = find_matcher(vm, role), find_status_ref(vm, role)
        captured = ref.controller_revision_ref if ref and matcher and ref.name in (None, matcher.name) else None
        name = (matcher.revision_name if matcher else None) or (captured.name if captured else None)
        if matcher is not None and name:
            names[role] = name
    return names


def with_finalizer(vm: VirtualMachine, finalizer: str) -> VirtualMachine:
    """Return the VM with the finalizer; the same object if it already has the finalizer or is being deleted."""
    metadata = vm.metadata
    if metadata.deletion_timestamp is not None or finalizer in (metadata.finalizers or ()):
        return vm
    return replace(vm, metadata=replace(metadata, finalizers=[*(metadata.finalizers or ()), finalizer]))


def _uid(vm: VirtualMachine) -> str:
    return vm.metadata.uid or ""


def _name(revision: ControllerRevision) -> str:
    return revision.metadata.name or ""


def _find_object_name(revision: ControllerRevision) -> str | None:
    return (revision.metadata.labels or {}).get(OBJECT_NAME_LABEL)
