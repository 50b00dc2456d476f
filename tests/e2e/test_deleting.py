"""Deletion of objects with kubectl."""

import pytest
from tests.support.kubectl import Kubectl
from tests.support.smallmanifests import build_config_map, build_vm

FINISH = '{"metadata": {"finalizers": null}}'


def _delete(kubectl: Kubectl, *arguments: str) -> None:
    kubectl("delete", "vm", "web", "--wait=false", *arguments)


def test_kubectl_delete_waits_for_the_object(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    assert kubectl("delete", "vm", "web").startswith('virtualmachine.kubevirt.io "web" deleted')
    assert "not found" in kubectl.run_rejected("get", "vm", "web")
    assert "not found" in kubectl.run_rejected("delete", "vm", "web")
    kubectl("delete", "vm", "web", "--ignore-not-found")


def test_background_deletion_removes_the_object_immediately(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    _delete(kubectl, "--cascade=background")
    assert "not found" in kubectl.run_rejected("get", "vm", "web")


@pytest.mark.parametrize(("cascade", "finalizer"), [("foreground", "foregroundDeletion"), ("orphan", "orphan")])
def test_object_deleted_with_foreground_or_orphan_remains_until_its_finalizer_is_removed(
    kubectl: Kubectl, cascade: str, finalizer: str
) -> None:
    kubectl.apply(build_vm())
    _delete(kubectl, f"--cascade={cascade}")
    metadata = kubectl.get("vm", "web")["metadata"]
    assert metadata["finalizers"] == [finalizer]
    assert metadata["deletionTimestamp"]
    kubectl("patch", "vm", "web", "--type=merge", "-p", FINISH)
    assert "not found" in kubectl.run_rejected("get", "vm", "web")


def test_deleted_object_remains_until_its_finalizer_is_removed(kubectl: Kubectl) -> None:
    machine = build_vm()
    machine["metadata"]["finalizers"] = ["example.com/hold"]
    kubectl.apply(machine)
    _delete(kubectl)
    assert kubectl.get("vm", "web")["metadata"]["deletionTimestamp"]
    kubectl("patch", "vm", "web", "--type=merge", "-p", FINISH)
    assert "not found" in kubectl.run_rejected("get", "vm", "web")


def test_kubectl_deletes_objects_by_name_by_label_or_with_all(kubectl: Kubectl) -> None:
    kubectl.apply(*(build_config_map(name) for name in "abc"), build_vm())
    kubectl("delete", "configmap", "a", "b")
    kubectl("delete", "configmap", "-l", "tier=front")
    assert kubectl("get", "configmap", "-o", "name") == "configmap/c\n"
    kubectl("delete", "configmap", "--all")
    kubectl("delete", "vm", "-l", "app=web")
    assert kubectl("get", "configmap,vm", "-o", "name") == ""


def test_kubectl_delete_accepts_now_and_force(kubectl: Kubectl) -> None:
    kubectl.apply(build_vm())
    kubectl("delete", "vm", "web", "--now")
    kubectl.apply(build_vm())
    kubectl("delete", "vm", "web", "--grace-period=0", "--force")
    assert "not found" in kubectl.run_rejected("get", "vm", "web")


def test_default_namespace_cannot_be_deleted(kubectl: Kubectl) -> None:
    assert "may not be deleted" in kubectl.run_rejected("delete", "namespace", "default", "--wait=false")
