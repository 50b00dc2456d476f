"""A VM completed before it is checked: matchers inferred, and what its guest relies on written down."""

from typing import Any

import pytest
from tests.support.build import Tree, build_flavor_preference, build_preference, build_revision, build_source, build_vm

from virtshape.admission.mutate import mutate_vm
from virtshape.api.codec import to_tree
from virtshape.api.status import StatusError
from virtshape.offline.objects import Objects

ASKING: Tree = {"inferFromVolume": "root"}
VOLUMES: Tree = {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "base"}}]}
LASTING: Tree = {
    "preferredArchitecture": "arm64",
    "machine": {"preferredMachineType": "virt-9"},
    "volumes": {"preferredStorageClassName": "fast"},
    "devices": {"preferredDiskBus": "virtio"},
    "cpu": {"preferredCPUTopology": "cores"},
    "preferredSubdomain": "lab",
}
TEMPLATES: list[Tree] = [{"metadata": {"name": "dv"}, "spec": {"storage": {}}}]


def mutate(vm: Any, *objects: Any, old: Any = None) -> tuple[Tree, list[str]]:
    mutated = mutate_vm(vm, Objects(objects).find, old)
    assert mutated.vm is vm
    return to_tree(vm), mutated.warnings


def build_claim(**marks: Any) -> Any:
    return build_source("PersistentVolumeClaim", "base", **marks)


def test_a_vm_without_matchers_stays_as_it_is() -> None:
    assert mutate(build_vm(memory="1Gi")) == (to_tree(build_vm(memory="1Gi")), [])


def test_what_a_guest_relies_on_is_written_and_nothing_else() -> None:
    vm = build_vm(preference="linux", dataVolumeTemplates=TEMPLATES)
    tree, warnings = mutate(vm, build_preference("linux", **LASTING))
    expected = build_vm(
        preference="linux",
        domain={"machine": {"type": "virt-9"}},
        template={"architecture": "arm64"},
        dataVolumeTemplates=[{"metadata": {"name": "dv"}, "spec": {"storage": {"storageClassName": "fast"}}}],
    )
    assert (tree, warnings) == (to_tree(expected), [])


def test_what_the_vm_says_itself_stays() -> None:
    own: Tree = {
        "preference": "linux",
        "domain": {"machine": {"type": "q35"}},
        "template": {"architecture": "amd64"},
        "dataVolumeTemplates": [{"spec": {"pvc": {"storageClassName": ""}}}],
    }
    assert mutate(build_vm(**own), build_preference("linux", **LASTING)) == (to_tree(build_vm(**own)), [])


def test_a_preference_of_the_flavor_group_is_written_beside_a_flavor() -> None:
    vm = build_vm(flavor="tiny", preference="linux")
    tree, _ = mutate(vm, build_flavor_preference("linux", machine={"preferredMachineType": "pc"}))
    assert tree["spec"]["template"]["spec"]["domain"]["machine"] == {"type": "pc"}


def test_a_preference_out_of_a_revision_is_written() -> None:
    kept = to_tree(build_preference("linux", machine={"preferredMachineType": "pc"}))
    vm = build_vm(preference={"name": "linux", "revisionName": "r"})
    live = build_preference("linux", machine={"preferredMachineType": "q35"})
    tree, _ = mutate(vm, live, build_revision("r", kept))
    assert tree["spec"]["template"]["spec"]["domain"]["machine"] == {"type": "pc"}


@pytest.mark.parametrize("matcher", ["gone", "Pod/linux", {"name": "linux", "revisionName": "gone"}])
def test_a_preference_that_cannot_be_found_is_left_to_validation(matcher: str | Tree) -> None:
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
def test_matchers_are_inferred_and_the_inferred_preference_is_written(marks: Tree) -> None:
    vm = build_vm(instancetype=ASKING, preference=ASKING, template=VOLUMES)
    tree, warnings = mutate(vm, build_claim(**marks), build_preference("linux", **LASTING))
    assert tree["spec"]["instancetype"] == {"name": "small", "kind": "virtualmachineclusterinstancetype"}
    assert tree["spec"]["preference"] == {"name": "linux", "kind": "virtualmachineclusterpreference"}
    assert tree["spec"]["template"]["spec"]["architecture"] == "arm64"
    assert warnings == []


def test_a_failed_inference_is_a_warning_where_the_policy_says_so() -> None:
    matcher = {**ASKING, "inferFromVolumeFailurePolicy": "Ignore"}
    vm = build_vm(instancetype=matcher, preference=matcher, template=VOLUMES, memory="512Mi")
    tree, warnings = mutate(vm, build_claim())
    assert "instancetype" not in tree["spec"]
    assert "preference" not in tree["spec"]
    assert [warning.partition(":")[0] for warning in warnings] == ["spec.instancetype", "spec.preference"]


def test_a_failed_inference_is_refused_otherwise() -> None:
    with pytest.raises(StatusError, match="unable to find required") as refused:
        mutate(build_vm(instancetype=ASKING, template=VOLUMES), build_claim())
    assert refused.value.code == 400


def test_all_mistakes_in_matchers_are_refused_at_once() -> None:
    with pytest.raises(StatusError) as refused:
        mutate(build_vm(instancetype={}, preference={"name": "a", "inferFromVolume": "v"}))
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert [cause.field for cause in refused.value.causes] == ["spec.instancetype", "spec.preference.name"]
    assert refused.value.message == ", ".join(cause.message for cause in refused.value.causes)


CAPTURED: Tree = {"instancetypeRef": {"name": "a", "controllerRevisionRef": {"name": "captured"}}}


def test_an_update_to_another_object_clears_the_revision_that_the_controller_wrote() -> None:
    old = build_vm(instancetype={"name": "a", "revisionName": "captured"}, status=CAPTURED)
    new = build_vm(instancetype={"name": "b", "revisionName": "captured"})
    tree, _ = mutate(new, old=old)
    assert tree["spec"]["instancetype"] == {"name": "b"}


def test_an_update_to_another_object_is_refused_beside_a_revision_of_the_users() -> None:
    old = build_vm(instancetype={"name": "a", "revisionName": "mine"}, status=CAPTURED)
    with pytest.raises(StatusError, match="without updating the RevisionName"):
        mutate(build_vm(instancetype={"name": "b", "revisionName": "mine"}), old=old)


def test_an_update_of_something_else_keeps_the_revision() -> None:
    matcher = {"name": "a", "revisionName": "captured"}
    tree, _ = mutate(
        build_vm(instancetype=matcher, runStrategy="Halted"), old=build_vm(instancetype=matcher, status=CAPTURED)
    )
    assert tree["spec"]["instancetype"] == matcher


INFERRED: Tree = {"name": "small", "kind": "virtualmachineclusterinstancetype", "revisionName": "vm1-small-1"}


def test_a_manifest_that_is_applied_again_keeps_what_was_inferred_from_it() -> None:
    before = build_vm(instancetype=INFERRED, template=VOLUMES)
    again = build_vm(instancetype={**INFERRED, **ASKING}, template=VOLUMES)
    tree, warnings = mutate(again, build_claim(), old=before)
    assert tree == to_tree(before)
    advice = "remove spec.instancetype.name and spec.instancetype.kind to infer it again"
    assert warnings == [f"spec.instancetype: small was inferred before and is kept; {advice}"]


def test_a_name_that_is_new_beside_an_inference_is_refused() -> None:
    again = build_vm(instancetype={"name": "large", **ASKING}, template=VOLUMES)
    with pytest.raises(StatusError) as refused:
        mutate(again, build_claim(), old=build_vm(instancetype=INFERRED, template=VOLUMES))
    assert [cause.field for cause in refused.value.causes] == ["spec.instancetype.name"]
