"""
Matchers: how a VM refers to its instance type, flavor or preference.

Kinds are not case-sensitive, and may be singular or plural. An absent kind means the cluster-wide kind.
"""

from typing import Final, Literal, NamedTuple

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.virtualmachine import (
    FlavorMatcher,
    InstancetypeMatcher,
    InstancetypeStatusRef,
    PreferenceMatcher,
    VirtualMachine,
)
from virtshape.api.status import StatusError
from virtshape.api.wellknown import RECAPTURE_ANNOTATION

Matcher = InstancetypeMatcher | PreferenceMatcher | FlavorMatcher
Role = Literal["instancetype", "preference", "flavor"]
"""The type of object that a matcher refers to, which is also the name of the matcher's field in the VM."""

INSTANCETYPE_GROUP: Final = "instancetype.kubevirt.io"
FLAVOR_GROUP: Final = "flavor.kubevirt.io"


class MatcherKinds(NamedTuple):
    """The cluster-wide and the namespaced kind that a matcher can refer to, and the matcher's name in messages."""

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


def check_sole_size(vm: VirtualMachine) -> FieldError | None:
    """Return an error if the VM refers to both an instance type and a flavor, otherwise None."""
    if vm.spec.flavor is None or vm.spec.instancetype is None:
        return None
    message = "spec.flavor and spec.instancetype are mutually exclusive: keep one of them"
    return FieldError("spec.flavor", message, rule="invalid-matcher")


def find_matcher(vm: VirtualMachine, role: Role) -> Matcher | None:
    """Return the VM's matcher in this role, or None."""
    matcher: Matcher | None = getattr(vm.spec, role)
    return matcher


def find_status_ref(vm: VirtualMachine, role: Role) -> InstancetypeStatusRef | None:
    """Return the reference for this role in the VM's status, or None."""
    ref: InstancetypeStatusRef | None = getattr(vm.status, f"{role}_ref") if vm.status else None
    return ref


def list_recaptured(vm: VirtualMachine) -> list[str]:
    """Return the roles whose revisions must be captured again, from the VM's annotation."""
    annotations = vm.metadata.annotations
    marked = annotations.get(RECAPTURE_ANNOTATION) if annotations else None
    return [role.strip() for role in marked.split(",")] if marked is not None else []


def list_new_recaptures(vm: VirtualMachine, before: VirtualMachine) -> list[Role]:
    """Return the roles for which an update requests that the revision is captured again."""
    added = set(list_recaptured(vm)).difference(list_recaptured(before))
    matchers = {role: matcher for role in KINDS if role in added and (matcher := find_matcher(vm, role)) is not None}
    return [role for role, matcher in matchers.items() if not matcher.revision_name]


def find_full_kind(matcher: Matcher, role: Role) -> str | None:
    """Return the full name of the matcher's kind, or None if it is unknown."""
    kinds, name = _BY_NAME[role], matcher.kind or ""
    return kinds.get(name) or kinds.get(name.lower())


def full_kind(matcher: Matcher, role: Role) -> str:
    """Return the full name of the matcher's kind, or raise StatusError if it is unknown."""
    kind = find_full_kind(matcher, role)
    if kind is None:
        kinds = KINDS[role]
        message = f"got unexpected kind in {kinds.label}: {matcher.kind}; use {kinds.cluster} or {kinds.namespaced}"
        cause = FieldError(f"spec.{role}.kind", message, "FieldValueNotSupported", "matcher-kind")
        raise StatusError(422, "Invalid", message, [cause])
    return kind
