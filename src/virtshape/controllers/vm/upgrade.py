"""
Plan the upgrade of a VM to the current versions of its instance type and preference.

Objects are only read. If an instance type or preference was deleted, its revision remains in use; if a revision was
deleted, it is captured again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.wellknown import RECAPTURE_ANNOTATION
from virtshape.controllers.vm.newvmi import firmware_uuid, make_instance
from virtshape.engine.compare import Change, compare_values
from virtshape.resolve.drift import Drift, find_drift
from virtshape.resolve.find import get_shape
from virtshape.resolve.matcher import KINDS, Role, find_matcher, find_status_ref
from virtshape.resolve.reference import Lookup

_BEHIND: Final = ("changed", "older version", "missing")


class Upgrade(NamedTuple):
    """
    Outdated and missing revisions, revisions whose object was deleted, and the resulting changes to the instance.

    If a revision is missing, the changes are unknown.
    """

    behind: list[Drift]
    gone: list[Drift]
    changes: list[Change]

    @property
    def has_unknown_changes(self) -> bool:
        """Return True if a revision is missing, so that the VM cannot be compared with its earlier state."""
        return any(drift.state == "missing" for drift in self.behind)

    @property
    def roles(self) -> list[Role]:
        """The roles whose revision is outdated or missing."""
        return [drift.role for drift in self.behind]


def plan_upgrade(vm: VirtualMachine, lookup: Lookup, configuration: KubeVirtConfiguration | None = None) -> Upgrade:
    """Return the planned upgrade; raise StatusError if current objects are missing or conflict with the VM."""
    drifts = [drift for role in KINDS if (drift := find_drift(vm, role, lookup)) is not None]
    behind = [drift for drift in drifts if drift.state in _BEHIND]
    gone = [drift for drift in drifts if drift.state == "gone"]
    plan = Upgrade(behind, gone, [])
    if plan.has_unknown_changes:
        _make_instance(release(vm, plan.roles), lookup, configuration)
    elif any(drift.state == "changed" for drift in behind):
        plan.changes.extend(compare_instances(vm, release(vm, plan.roles), lookup, configuration))
    return plan


def release(vm: VirtualMachine, roles: Iterable[Role]) -> VirtualMachine:
    """Return the VM without references to revisions in these roles."""
    for role in roles:
        matcher = find_matcher(vm, role)
        if matcher is not None:
            vm = replace(vm, spec=replace(vm.spec, **{role: replace(matcher, revision_name=None)}))
        if vm.status is not None:
            vm = replace(vm, status=replace(vm.status, **{f"{role}_ref": None}))
    return vm


def write_release(roles: Sequence[Role]) -> JsonObject:
    """Return the merge patch that requests new revisions in these roles, whether spec or status names the old ones."""
    return {"metadata": {"annotations": {RECAPTURE_ANNOTATION: ",".join(roles)}}, **write_spec_release(roles)}


def write_spec_release(roles: Iterable[Role]) -> JsonObject:
    """Return the merge patch that removes revision names from the spec, for a stock KubeVirt."""
    return {"spec": {role: {"revisionName": None} for role in roles}}


def write_status_release(vm: VirtualMachine, roles: Iterable[Role]) -> JsonObject | None:
    """Return the merge patch that removes references from the status, for a stock KubeVirt; None if it has none."""
    left = [role for role in roles if find_status_ref(vm, role) is not None]
    return {"status": {f"{role}Ref": None for role in left}} if left else None


def compare_instances(
    then: VirtualMachine, now: VirtualMachine, lookup: Lookup, configuration: KubeVirtConfiguration | None
) -> Iterator[Change]:
    """Yield each difference between the instances of `then` and `now`; raise StatusError if one cannot be built."""
    (old_metadata, old), (new_metadata, new) = (_make_instance(vm, lookup, configuration) for vm in (then, now))
    yield from compare_values(old_metadata.annotations or {}, new_metadata.annotations or {}, "metadata.annotations")
    yield from compare_values(old, new, "spec")


def _make_instance(
    vm: VirtualMachine, lookup: Lookup, configuration: KubeVirtConfiguration | None
) -> tuple[ObjectMeta, VirtualMachineInstanceSpec]:
    return make_instance(vm, get_shape(vm, lookup), configuration, firmware_uuid=firmware_uuid(vm))
