"""The plan of an import: order, dropped fields, revisions, owners and skipped objects."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.kubevirtdump import DUMP, SIZE_REVISION

from virtshape.offline.files import load
from virtshape.offline.importcompare import compare_imported
from virtshape.offline.importplan import ImportPlan, Step, is_importable, list_needs, plan_import


def plan_text(tmp_path: Path, text: str, **options: Any) -> ImportPlan:
    path = tmp_path / "dump.yaml"
    path.write_text(text)
    loaded = load([str(path)], is_importable)
    loaded.raise_problems()
    return plan_import(loaded.entries, **options)


def plan_trees(tmp_path: Path, *trees: Any, **options: Any) -> ImportPlan:
    return plan_text(tmp_path, yaml.safe_dump_all(trees), **options)


def get_step(plan: ImportPlan, kind: str) -> Step:
    return next(step for step in plan.steps if step.reference.kind == kind)


def list_reasons(plan: ImportPlan) -> dict[str, str]:
    return {f"{each.kind}/{each.name}": each.reason for each in plan.skipped}


def build_claim(name: str, **metadata: Any) -> dict[str, Any]:
    about = {"name": name, "namespace": "shop", **metadata}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": about, "spec": {}}


def test_objects_are_created_after_their_dependencies_regardless_of_the_order_in_the_dump(tmp_path: Path) -> None:
    plan = plan_text(tmp_path, DUMP)
    assert [step.reference.kind for step in plan.steps] == [
        "Namespace",
        "VirtualMachineClusterInstancetype",
        "VirtualMachinePreference",
        "ControllerRevision",
        "PersistentVolumeClaim",
        "VirtualMachine",
    ]


def test_namespaces_that_are_not_in_the_dump_are_created(tmp_path: Path) -> None:
    plan = plan_trees(tmp_path, build_claim("data"))
    assert [step.reference.name for step in plan.steps] == ["shop", "data"]


def test_server_set_fields_status_and_unknown_fields_are_dropped(tmp_path: Path) -> None:
    step = get_step(plan_text(tmp_path, DUMP), "VirtualMachine")
    assert {each.field for each in step.dropped} == {
        "metadata.uid",
        "metadata.resourceVersion",
        "metadata.generation",
        "metadata.creationTimestamp",
        "metadata.managedFields",
        "metadata.finalizers",
        "spec.template.spec.domain.futureField",
        "status",
    }
    assert step.item.metadata.uid is None
    assert step.item.status is None
    assert step.item.metadata.labels == {"app": "web"}


def test_imported_claim_is_not_bound_to_its_previous_volume(tmp_path: Path) -> None:
    claim = get_step(plan_text(tmp_path, DUMP), "PersistentVolumeClaim").item
    assert claim.spec.volume_name is None
    assert claim.metadata.annotations == {"team": "shop"}


def test_revision_named_only_in_the_vm_status_is_set_in_the_spec(tmp_path: Path) -> None:
    step = get_step(plan_text(tmp_path, DUMP), "VirtualMachine")
    assert step.item.spec.instancetype.revision_name == SIZE_REVISION
    assert [change.field for change in step.changes] == ["spec.instancetype.revisionName"]


def test_revision_of_another_instancetype_in_the_vm_status_is_not_used(tmp_path: Path) -> None:
    step = get_step(
        plan_text(tmp_path, DUMP.replace("      name: cx1.medium\n", "      name: other\n")), "VirtualMachine"
    )
    assert step.item.spec.instancetype.revision_name is None


def test_imported_revision_has_its_name_and_content_and_gets_its_owner_later(tmp_path: Path) -> None:
    step = get_step(plan_text(tmp_path, DUMP), "ControllerRevision")
    assert step.item.metadata.name == SIZE_REVISION
    assert step.item.data["spec"] == {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
    assert step.item.metadata.owner_references is None
    assert [(place.kind, place.namespace, place.name) for place, _ in step.owners] == [
        ("VirtualMachine", "shop", "web")
    ]


def test_owner_that_is_not_in_the_dump_is_dropped(tmp_path: Path) -> None:
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "gone", "uid": "u", "controller": True}
    step = get_step(plan_trees(tmp_path, build_claim("data", ownerReferences=[owner])), "PersistentVolumeClaim")
    assert list(step.owners) == []
    assert [(each.field, each.reason) for each in step.dropped] == [
        ("metadata.ownerReferences[0]", "the VirtualMachine gone is not in the dump")
    ]


def test_objects_that_controllers_create_and_unused_namespaces_are_skipped(tmp_path: Path) -> None:
    reasons = list_reasons(plan_text(tmp_path, DUMP))
    assert reasons["VirtualMachineInstance/web"] == "the server creates it for the VirtualMachine web"
    assert reasons["DataVolume/web-root"] == "the server creates it for the VirtualMachine web"
    assert reasons["Namespace/unrelated"] == "no object is imported into it"


def test_data_volume_that_is_no_longer_in_the_vms_templates_is_imported(tmp_path: Path) -> None:
    plan = plan_text(tmp_path, DUMP.replace("- metadata: {name: web-root}", "- metadata: {name: other}"))
    assert get_step(plan, "DataVolume").reference.name == "web-root"


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        pytest.param(
            build_claim("data", deletionTimestamp="2025-03-04T10:11:12Z"), "it is being deleted", id="being deleted"
        ),
        pytest.param(
            {
                "apiVersion": "kubevirt.io/v1",
                "kind": "VirtualMachineInstance",
                "metadata": {
                    "name": "web",
                    "ownerReferences": [
                        {
                            "apiVersion": "kubevirt.io/v1",
                            "kind": "VirtualMachine",
                            "name": "web",
                            "uid": "u",
                            "controller": True,
                        }
                    ],
                },
                "spec": {"domain": {"devices": {}}},
            },
            "its VirtualMachine web is not in the dump",
            id="instance without its VM",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt", "namespace": "shop"}},
            "every cluster has its own",
            id="root CA",
        ),
        pytest.param(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "token", "namespace": "shop"},
                "type": "kubernetes.io/service-account-token",
            },
            "it is only valid in the source cluster",
            id="token",
        ),
        pytest.param(
            {
                "apiVersion": "apps/v1",
                "kind": "ControllerRevision",
                "metadata": {
                    "name": "agent-1",
                    "ownerReferences": [
                        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u", "controller": True}
                    ],
                },
            },
            "it is a revision of a DaemonSet",
            id="revision of a DaemonSet",
        ),
    ],
)
def test_objects_that_cannot_be_imported_are_skipped_with_a_reason(tmp_path: Path, tree: Any, reason: str) -> None:
    plan = plan_trees(tmp_path, tree)
    assert plan.steps == []
    assert [each.reason for each in plan.skipped] == [reason]


def test_only_the_given_namespace_is_imported_with_cluster_wide_objects(tmp_path: Path) -> None:
    plan = plan_text(tmp_path, DUMP, namespace="elsewhere")
    assert [step.reference.kind for step in plan.steps] == ["VirtualMachineClusterInstancetype"]
    assert list_reasons(plan)["VirtualMachine/web"] == "it is not in the namespace elsewhere"


def test_imported_vm_depends_on_its_namespace_and_its_flavor(tmp_path: Path) -> None:
    spec = {"runStrategy": "Halted", "flavor": {"name": "small"}, "template": {"spec": {"domain": {"devices": {}}}}}
    about = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "web", "namespace": "shop"}}
    step = get_step(plan_trees(tmp_path, {**about, "spec": spec}), "VirtualMachine")
    assert [(each.kind, each.namespace, each.name) for each in list_needs(step.item)] == [
        ("Namespace", "", "shop"),
        ("VirtualMachineClusterFlavor", "", "small"),
        ("VirtualMachineFlavor", "shop", "small"),
    ]


def test_imported_vms_are_halted_on_request(tmp_path: Path) -> None:
    step = get_step(plan_text(tmp_path, DUMP, halt=True), "VirtualMachine")
    assert step.item.spec.run_strategy == "Halted"
    assert ("spec.runStrategy", "Always", "Halted") in step.changes


def test_defaults_set_by_the_server_are_not_differences_of_an_existing_object(tmp_path: Path) -> None:
    wanted = get_step(plan_text(tmp_path, DUMP), "VirtualMachine").item
    stored = get_step(
        plan_text(tmp_path, DUMP.replace("devices: {}\n", "devices: {}\n          machine: {type: q35}\n")),
        "VirtualMachine",
    ).item
    assert [change.field for change in compare_imported(wanted, stored)] == ["spec.template.spec.domain.machine"]
    assert compare_imported(wanted, stored, stated_only=True) == []
    assert compare_imported(stored, wanted, stated_only=True) != []


def test_differing_secret_values_are_masked(tmp_path: Path) -> None:
    about = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "shop"}}
    wanted, stored = (
        get_step(plan_trees(tmp_path, {**about, "data": {"password": value}}), "Secret").item
        for value in ("YQ==", "Yg==")
    )
    assert compare_imported(wanted, stored) == [("data[password]", "***", "***")]
