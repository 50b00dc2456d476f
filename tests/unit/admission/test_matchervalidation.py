"""Validation of matchers, and of changes to them."""

from typing import Any

import pytest
from tests.support.build import build_vm

from virtshape.admission.matchervalidation import check_matchers, clear_captured_revisions
from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject

ROLES = ("instancetype", "preference", "flavor")
INFERRING = ROLES[:2]


def build(role: str, matcher: JsonObject | None, **vm: Any) -> Any:
    return build_vm(**{role: matcher, **vm})


def captured(role: str, revision: str = "captured") -> JsonObject:
    return {f"{role}Ref": {"name": "a", "controllerRevisionRef": {"name": revision}}}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "matcher",
    [
        None,
        {"name": "a"},
        {"name": "a", "kind": "whatever"},
        {"name": "a", "revisionName": "r"},
    ],
    ids=["none", "name", "kind", "revision"],
)
def test_named_or_absent_matcher_is_valid(role: str, matcher: JsonObject | None) -> None:
    assert check_matchers(build(role, matcher)) == []


@pytest.mark.parametrize("role", INFERRING)
@pytest.mark.parametrize("policy", [None, "Reject", "Ignore"])
def test_matcher_that_infers_from_a_volume_is_valid(role: str, policy: str | None) -> None:
    matcher = {"inferFromVolume": "root", "inferFromVolumeFailurePolicy": policy}
    assert check_matchers(build(role, matcher)) == []


@pytest.mark.parametrize(
    ("matcher", "causes"),
    [
        pytest.param({}, [("FieldValueNotFound", "")], id="neither"),
        pytest.param({"name": "", "inferFromVolume": ""}, [("FieldValueNotFound", "")], id="both empty"),
        pytest.param({"name": "a", "inferFromVolume": "v"}, [("FieldValueNotSupported", ".name")], id="both"),
        pytest.param(
            {"kind": "k", "inferFromVolume": "v"}, [("FieldValueNotSupported", ".kind")], id="inference and kind"
        ),
        pytest.param(
            {"name": "a", "kind": "k", "inferFromVolume": "v", "inferFromVolumeFailurePolicy": "Retry"},
            [
                ("FieldValueNotSupported", ".name"),
                ("FieldValueNotSupported", ".kind"),
                ("FieldValueInvalid", ".inferFromVolumeFailurePolicy"),
            ],
            id="everything",
        ),
        pytest.param(
            {"name": "a", "inferFromVolumeFailurePolicy": ""},
            [("FieldValueInvalid", ".inferFromVolumeFailurePolicy")],
            id="empty policy",
        ),
    ],
)
@pytest.mark.parametrize("role", INFERRING)
def test_all_problems_of_a_matcher_are_reported(role: str, matcher: JsonObject, causes: list[tuple[str, str]]) -> None:
    found = check_matchers(build(role, matcher))
    assert [(cause.reason, cause.field) for cause in found] == [(type_, f"spec.{role}{at}") for type_, at in causes]


@pytest.mark.parametrize("matcher", [{}, {"name": ""}, {"kind": "VirtualMachineFlavor"}])
def test_flavor_matcher_requires_a_name(matcher: JsonObject) -> None:
    (cause,) = check_matchers(build("flavor", matcher))
    assert (cause.message, cause.field) == ("Name should be provided within the FlavorMatcher", "spec.flavor")


def test_problems_of_all_matchers_are_reported_at_once() -> None:
    causes = check_matchers(build_vm(instancetype={}, preference={}, flavor={}))
    assert [cause.field for cause in causes] == ["spec.instancetype", "spec.flavor", "spec.preference", "spec.flavor"]


def test_flavor_and_instancetype_are_mutually_exclusive() -> None:
    (cause,) = check_matchers(build_vm(instancetype="a", flavor="b", preference="c"))
    assert cause.message == "spec.flavor and spec.instancetype are mutually exclusive: keep one of them"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        pytest.param(None, {"name": "b", "revisionName": "r"}, True, id="new"),
        pytest.param({"name": "a", "revisionName": "r"}, None, True, id="removed"),
        pytest.param({"name": "a", "revisionName": "r"}, {"name": "a", "revisionName": "r"}, True, id="unchanged"),
        pytest.param({"name": "a"}, {"name": "b"}, True, id="no revision"),
        pytest.param({"name": "a", "revisionName": "r"}, {"name": "b"}, True, id="revision removed"),
        pytest.param({"name": "a", "revisionName": "r"}, {"name": "b", "revisionName": ""}, True, id="emptied"),
        pytest.param({"name": "a", "revisionName": "r"}, {"name": "b", "revisionName": "s"}, True, id="both changed"),
        pytest.param({"name": "a", "revisionName": "r"}, {"name": "a", "revisionName": "s"}, True, id="other revision"),
        pytest.param(
            {"name": "a", "revisionName": "r"}, {"name": "a", "kind": "k", "revisionName": "r"}, True, id="other kind"
        ),
        pytest.param({"name": "a", "revisionName": "r"}, {"name": "b", "revisionName": "r"}, False, id="kept"),
    ],
)
def test_matcher_with_a_changed_name_cannot_keep_its_revision_name(
    role: str, old: JsonObject | None, new: JsonObject | None, allowed: bool
) -> None:
    causes = check_matchers(build(role, new), build(role, old))
    if allowed:
        assert causes == []
    else:
        (cause,) = causes
        assert (cause.reason, cause.field) == ("FieldValueInvalid", f"spec.{role}.revisionName")
        assert cause.message == (
            "the Matcher name has been updated without updating the RevisionName: "
            f"remove spec.{role}.revisionName to use the current b"
        )


@pytest.mark.parametrize("role", INFERRING)
def test_matcher_changed_to_inference_cannot_keep_its_revision_name(role: str) -> None:
    new = build(role, {"inferFromVolume": "root", "revisionName": "r"})
    (cause,) = check_matchers(new, build(role, {"name": "a", "revisionName": "r"}))
    assert cause.field == f"spec.{role}.revisionName"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("new", "revision"),
    [
        pytest.param({"name": "b", "revisionName": "captured"}, None, id="other object"),
        pytest.param(
            {"name": "a", "kind": "NAMESPACED", "revisionName": "captured"}, None, id="same name of another kind"
        ),
        pytest.param({"name": "a", "revisionName": "captured"}, "captured", id="same object"),
        pytest.param({"name": "a", "kind": "CLUSTER", "revisionName": "captured"}, "captured", id="explicit kind"),
        pytest.param({"name": "b", "revisionName": "mine"}, "mine", id="revision of the user"),
        pytest.param({"name": "b"}, None, id="no revision"),
    ],
)
def test_captured_revision_is_cleared_only_if_the_matcher_refers_to_another_object(
    role: str, new: JsonObject, revision: str | None
) -> None:
    kinds = {"NAMESPACED": f"VirtualMachine{role.capitalize()}", "CLUSTER": f"virtualmachinecluster{role}s"}
    matcher = {**new, "kind": kinds.get(new.get("kind", ""))}
    old = build(role, {"name": "a", "revisionName": "captured"}, status=captured(role))
    vm = build(role, matcher)
    clear_captured_revisions(vm, old)
    assert to_tree(getattr(vm.spec, role)).get("revisionName") == revision


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("revision", "status"),
    [("mine", "captured"), ("captured", None)],
    ids=["not in the status", "no revision in the status"],
)
def test_revision_set_by_the_user_is_never_cleared(role: str, revision: str, status: str | None) -> None:
    old_status = captured(role, status) if status else {f"{role}Ref": {"name": "a"}}
    old = build(role, {"name": "a", "revisionName": revision}, status=old_status)
    vm = build(role, {"name": "b", "revisionName": revision})
    clear_captured_revisions(vm, old)
    assert getattr(vm.spec, role).revision_name == revision
    assert len(check_matchers(vm, old)) == 1


@pytest.mark.parametrize("role", ["instancetype", "preference"])
def test_matcher_with_only_a_captured_revision_is_removed(role: str) -> None:
    old = build(role, {"name": "a", "kind": "", "revisionName": "captured"}, status=captured(role))
    vm = build(role, {"revisionName": "captured"})
    clear_captured_revisions(vm, old)
    assert getattr(vm.spec, role) is None


@pytest.mark.parametrize("role", ROLES)
def test_adding_or_removing_a_matcher_clears_no_revision(role: str) -> None:
    with_one, without = build(role, {"name": "a", "revisionName": "captured"}, status=captured(role)), build_vm()
    before = to_tree(with_one), to_tree(without)
    clear_captured_revisions(with_one, without)
    clear_captured_revisions(without, with_one)
    assert (to_tree(with_one), to_tree(without)) == before
