"""Kinds of matchers and their accepted spellings."""

from collections.abc import Callable

import pytest
from tests.support.build import build_vm

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.virtualmachine import FlavorMatcher, InstancetypeMatcher, PreferenceMatcher
from virtshape.api.status import StatusError
from virtshape.resolve.matcher import KINDS, Matcher, Role, check_sole_size, find_full_kind, find_status_ref, full_kind

MATCHERS: dict[Role, type[Matcher]] = {
    "instancetype": InstancetypeMatcher,
    "preference": PreferenceMatcher,
    "flavor": FlavorMatcher,
}


@pytest.mark.parametrize("role", KINDS)
@pytest.mark.parametrize("spell", [str, str.lower, str.upper, lambda kind: f"{kind}s", lambda kind: f"{kind.upper()}S"])
def test_kind_of_a_matcher_is_accepted_in_any_spelling(role: Role, spell: Callable[[str], str]) -> None:
    for kind in (KINDS[role].cluster, KINDS[role].namespaced):
        assert full_kind(MATCHERS[role](name="x", kind=spell(kind)), role) == kind


@pytest.mark.parametrize("role", KINDS)
@pytest.mark.parametrize("kind", [None, ""])
def test_default_kind_of_a_matcher_is_cluster_wide(role: Role, kind: str | None) -> None:
    assert full_kind(MATCHERS[role](name="x", kind=kind), role) == KINDS[role].cluster


@pytest.mark.parametrize("role", KINDS)
@pytest.mark.parametrize("kind", ["Pod", "VirtualMachineInstancetypess", "s", " virtualmachineinstancetype"])
def test_unexpected_kind_of_a_matcher_is_rejected_with_the_valid_kinds(role: Role, kind: str) -> None:
    matcher = MATCHERS[role](name="x", kind=kind)
    assert find_full_kind(matcher, role) is None
    with pytest.raises(StatusError) as refused:
        full_kind(matcher, role)
    label, cluster, namespaced = KINDS[role]
    message = f"got unexpected kind in {label}: {kind}; use {cluster} or {namespaced}"
    assert (refused.value.code, refused.value.message) == (422, message)
    assert refused.value.causes == (FieldError(f"spec.{role}.kind", message, "FieldValueNotSupported", "matcher-kind"),)


def test_instancetype_matcher_accepts_no_preference_or_flavor_kind() -> None:
    assert find_full_kind(InstancetypeMatcher(kind="VirtualMachinePreference"), "instancetype") is None
    assert find_full_kind(InstancetypeMatcher(kind="VirtualMachineFlavor"), "instancetype") is None


@pytest.mark.parametrize(
    ("instancetype", "flavor", "sole"),
    [(None, None, True), ("a", None, True), (None, "b", True), ("a", "b", False)],
)
def test_flavor_and_instancetype_are_mutually_exclusive(
    instancetype: str | None, flavor: str | None, sole: bool
) -> None:
    cause = check_sole_size(build_vm(instancetype=instancetype, flavor=flavor))
    message = "spec.flavor and spec.instancetype are mutually exclusive: keep one of them"
    expected = FieldError("spec.flavor", message, rule="invalid-matcher")
    assert cause == (None if sole else expected)


@pytest.mark.parametrize("role", KINDS)
def test_status_reference_to_the_object_of_each_matcher_is_found(role: Role) -> None:
    assert find_status_ref(build_vm(), role) is None
    assert find_status_ref(build_vm(status={}), role) is None
    ref = find_status_ref(build_vm(status={f"{role}Ref": {"name": role}}), role)
    assert ref is not None
    assert ref.name == role
