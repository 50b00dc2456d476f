"""Mutation of VMs: inferred matchers and persistent defaults from preferences."""

from typing import Any

import pytest
from tests.support.admission import mutate_vm
from tests.support.build import build_flavor_preference, build_preference, build_revision, build_source, build_vm

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.offline.objects import Objects

INFERENCE: JsonObject = {"inferFromVolume": "root"}
VOLUMES: JsonObject = {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "base"}}]}
LASTING: JsonObject = {
    "preferredArchitecture": "arm64",
    "machine": {"preferredMachineType": "virt-9"},
    "volumes": {"preferredStorageClassName": "fast"},
    "devices": {"preferredDiskBus": "virtio"},
    "cpu": {"preferredCPUTopology": "cores"},
    "preferredSubdomain": "lab",
}
TEMPLATES: list[JsonObject] = [{"metadata": {"name": "dv"}, "spec": {"storage": {}}}]


def mutate(vm: Any, *objects: Any, old: Any = None) -> tuple[JsonObject, list[str]]:
    mutated = mutate_vm(vm, Objects(objects), old)
    assert mutated.vm is vm
    return to_tree(vm), [warning.message for warning in mutated.warnings]


def build_claim(**marks: Any) -> Any:
    return build_source("PersistentVolumeClaim", "base", **marks)


def test_mutation_leaves_a_vm_without_matchers_unchanged() -> None:
    assert mutate(build_vm(memory="1Gi")) == (to_tree(build_vm(memory="1Gi")), [])


def test_only_preferences_that_must_not_change_are_written_to_the_vm() -> None:
    vm = build_vm(preference="linux", dataVolumeTemplates=TEMPLATES)
    tree, warnings = mutate(vm, build_preference("linux", **LASTING))
    expected = build_vm(
        preference="linux",
        domain={"machine": {"type": "virt-9"}},
        template={"architecture": "arm64"},
        dataVolumeTemplates=[{"metadata": {"name": "dv"}, "spec": {"storage": {"storageClassName": "fast"}}}],
    )
    assert (tree, warnings) == (to_tree(expected), [])


def test_written_preferences_do_not_replace_fields_of_the_vm() -> None:
    own: JsonObject = {
        "preference": "linux",
        "domain": {"machine": {"type": "q35"}},
        "template": {"architecture": "amd64"},
        "dataVolumeTemplates": [{"spec": {"pvc": {"storageClassName": ""}}}],
    }
    assert mutate(build_vm(**own), build_preference("linux", **LASTING)) == (to_tree(build_vm(**own)), [])


def test_preference_of_the_flavor_group_is_used_with_a_flavor() -> None:
    vm = build_vm(flavor="tiny", preference="linux")
    tree, _ = mutate(vm, build_flavor_preference("linux", machine={"preferredMachineType": "pc"}))
    assert tree["spec"]["template"]["spec"]["domain"]["machine"] == {"type": "pc"}


def test_preference_is_read_from_the_named_revision() -> None:
    kept = to_tree(build_preference("linux", machine={"preferredMachineType": "pc"}))
    vm = build_vm(preference={"name": "linux", "revisionName": "r"})
    live = build_preference("linux", machine={"preferredMachineType": "q35"})
    tree, _ = mutate(vm, live, build_revision("r", kept))
    assert tree["spec"]["template"]["spec"]["domain"]["machine"] == {"type": "pc"}


@pytest.mark.parametrize("matcher", ["gone", "Pod/linux", {"name": "linux", "revisionName": "gone"}])
def test_missing_preference_leaves_the_vm_unchanged(matcher: str | JsonObject) -> None:
    before = to_tree(build_vm(preference=matcher))
    assert mutate(build_vm(preference=matcher), build_preference("linux", **LASTING)) == (before, [])


@pytest.mark.parametrize(
    "marks",
    [
        {
            "annotations": {
                "instancetype.kubevirt.io/defaultInstancetype": "small",
                "instancetype.kubevirt.io/defaultPreference": "linux",
            }
        },
        {
            "labels": {
                "instancetype.kubevirt.io/default-instancetype": "small",
                "instancetype.kubevirt.io/default-preference": "linux",
            }
        },
    ],
    ids=["annotations", "labels"],
)
def test_inferred_instancetype_and_preference_are_written_to_the_vm(marks: JsonObject) -> None:
    vm = build_vm(instancetype=INFERENCE, preference=INFERENCE, template=VOLUMES)
    tree, warnings = mutate(vm, build_claim(**marks), build_preference("linux", **LASTING))
    assert tree["spec"]["instancetype"] == {"name": "small", "kind": "virtualmachineclusterinstancetype"}
    assert tree["spec"]["preference"] == {"name": "linux", "kind": "virtualmachineclusterpreference"}
    assert tree["spec"]["template"]["spec"]["architecture"] == "arm64"
    assert warnings == []


def test_failed_inference_causes_a_warning_with_policy_ignore() -> None:
    matcher = {**INFERENCE, "inferFromVolumeFailurePolicy": "Ignore"}
    vm = build_vm(instancetype=matcher, preference=matcher, template=VOLUMES, memory="512Mi")
    tree, warnings = mutate(vm, build_claim())
    assert "instancetype" not in tree["spec"]
    assert "preference" not in tree["spec"]
    assert [warning.partition(":")[0] for warning in warnings] == ["spec.instancetype", "spec.preference"]


def test_vm_is_rejected_by_default_if_inference_fails() -> None:
    with pytest.raises(StatusError, match="unable to find required") as refused:
        mutate(build_vm(instancetype=INFERENCE, template=VOLUMES), build_claim())
    assert refused.value.code == 400


def test_all_problems_of_matchers_are_reported_at_once() -> None:
    with pytest.raises(StatusError) as refused:
        mutate(build_vm(instancetype={}, preference={"name": "a", "inferFromVolume": "v"}))
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert [cause.field for cause in refused.value.causes] == ["spec.instancetype", "spec.preference.name"]
    assert refused.value.message == ", ".join(cause.message for cause in refused.value.causes)


CAPTURED: JsonObject = {"instancetypeRef": {"name": "a", "controllerRevisionRef": {"name": "captured"}}}


def test_change_of_the_instancetype_clears_the_captured_revision() -> None:
    old = build_vm(instancetype={"name": "a", "revisionName": "captured"}, status=CAPTURED)
    new = build_vm(instancetype={"name": "b", "revisionName": "captured"})
    tree, _ = mutate(new, old=old)
    assert tree["spec"]["instancetype"] == {"name": "b"}


def test_change_of_the_instancetype_with_a_user_revision_is_rejected() -> None:
    old = build_vm(instancetype={"name": "a", "revisionName": "mine"}, status=CAPTURED)
    with pytest.raises(StatusError, match="without updating the RevisionName"):
        mutate(build_vm(instancetype={"name": "b", "revisionName": "mine"}), old=old)


def test_update_with_the_same_instancetype_keeps_its_revision() -> None:
    matcher = {"name": "a", "revisionName": "captured"}
    tree, _ = mutate(
        build_vm(instancetype=matcher, runStrategy="Halted"), old=build_vm(instancetype=matcher, status=CAPTURED)
    )
    assert tree["spec"]["instancetype"] == matcher


INFERRED: JsonObject = {"name": "small", "kind": "virtualmachineclusterinstancetype", "revisionName": "vm1-small-1"}


def test_reapplied_manifest_keeps_the_inferred_matcher() -> None:
    before = build_vm(instancetype=INFERRED, template=VOLUMES)
    again = build_vm(instancetype={**INFERRED, **INFERENCE}, template=VOLUMES)
    tree, warnings = mutate(again, build_claim(), old=before)
    assert tree == to_tree(before)
    advice = "remove spec.instancetype.name and spec.instancetype.kind to infer it again"
    assert warnings == [f"spec.instancetype: small was inferred before and is kept; {advice}"]


def test_changed_matcher_name_with_inference_is_rejected() -> None:
    again = build_vm(instancetype={"name": "large", **INFERENCE}, template=VOLUMES)
    with pytest.raises(StatusError) as refused:
        mutate(again, build_claim(), old=build_vm(instancetype=INFERRED, template=VOLUMES))
    assert [cause.field for cause in refused.value.causes] == ["spec.instancetype.name"]
