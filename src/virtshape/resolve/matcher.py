"""
Matchers: how a VM names its instance type, flavor or preference, and what the names may be.

Kinds match without case, singular or plural; no kind means the cluster-wide one.
"""

from typing import Final, Literal, NamedTuple

from virtshape.api.kubevirt.machine import (
    FlavorMatcher,
    InstancetypeMatcher,
    InstancetypeStatusRef,
    PreferenceMatcher,
    VirtualMachine,
)
from virtshape.api.status import Cause, StatusError

Matcher = InstancetypeMatcher | PreferenceMatcher | FlavorMatcher
Role = Literal["instancetype", "preference", "flavor"]

INSTANCETYPE_GROUP: Final = "instancetype.kubevirt.io"
FLAVOR_GROUP: Final = "flavor.kubevirt.io"
RECAPTURE_ANNOTATION: Final = "virtshape.io/recapture"
"""On a VM: the roles, parted by commas, whose objects are to be captured anew, whatever its status says."""


class MatcherKinds(NamedTuple):
    """The two kinds a matcher can mean, and what messages call it."""

    label: str
    cluster: str
    namespaced: str


KINDS: Final[dict[Role, MatcherKinds]] = {
    "instancetype": MatcherKinds(
        "InstancetypeMatcher", "VirtualMachineClusterInstancetype", "VirtualMachineInstancetype"
    ),
    "preference": MatcherKinds("PreferenceMatcher", "VirtualMachineClusterPreference", "VirtualMachinePreference"),
    "flavor": MatcherKinds("FlavorMatcher", "VirtualMachineClusterFlavor", "VirtualMachineFlavor"),
}
_BY_NAME: Final[dict[Role, dict[str, str]]] = {
    role: {
        spelling: kind
        for kind in (kinds.cluster, kinds.namespaced)
        for spelling in (kind, kind.lower(), f"{kind.lower()}s", "" if kind == kinds.cluster else kind)
    }
    for role, kinds in KINDS.items()
}


def check_sole_size(vm: VirtualMachine) -> Cause | None:
    """Whether the VM names at most one thing that sizes it: an instance type or a flavor."""
    if vm.spec.flavor is None or vm.spec.instancetype is None:
        return None
    message = "spec.flavor and spec.instancetype are mutually exclusive: keep one of them"
    return Cause("FieldValueInvalid", message, "spec.flavor")


def find_matcher(vm: VirtualMachine, role: Role) -> Matcher | None:
    """The matcher that the VM has in this role."""
    matcher: Matcher | None = getattr(vm.spec, role)
    return matcher


def find_status_ref(vm: VirtualMachine, role: Role) -> InstancetypeStatusRef | None:
    """What the status says the VM was last resolved to in this role."""
    ref: InstancetypeStatusRef | None = getattr(vm.status, f"{role}_ref") if vm.status else None
    return ref


def list_recaptured(vm: VirtualMachine) -> list[str]:
    """The roles whose objects are to be captured anew."""
    annotations = vm.metadata.annotations if vm.metadata else None
    marked = annotations.get(RECAPTURE_ANNOTATION) if annotations else None
    return [role.strip() for role in marked.split(",")] if marked else []


def find_full_kind(matcher: Matcher, role: Role) -> str | None:
    """The kind that the matcher means, if it means one."""
    kinds, name = _BY_NAME[role], matcher.kind or ""
    return kinds.get(name) or kinds.get(name.lower())


def full_kind(matcher: Matcher, role: Role) -> str:
    """The kind that the matcher means."""
    kind = find_full_kind(matcher, role)
    if kind is None:
        kinds = KINDS[role]
        words = f"got unexpected kind in {kinds.label}: {matcher.kind}; use {kinds.cluster} or {kinds.namespaced}"
        raise StatusError(422, "Invalid", words, [Cause("FieldValueNotSupported", words, f"spec.{role}.kind")])
    return kind
