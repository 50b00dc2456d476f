"""How objects go."""

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.manifests import build_machine, build_settings

FINISH = '{"metadata": {"finalizers": null}}'


def _delete(kubectl: Kubectl, *words: str) -> None:
    kubectl("delete", "vm", "web", "--wait=false", *words)


def test_an_object_is_deleted_and_waited_for(kubectl: Kubectl) -> None:
    kubectl.apply(build_machine())
    assert kubectl("delete", "vm", "web").startswith('virtualmachine.kubevirt.io "web" deleted')
    assert "not found" in kubectl.refused("get", "vm", "web")
    assert "not found" in kubectl.refused("delete", "vm", "web")
    kubectl("delete", "vm", "web", "--ignore-not-found")


def test_a_deletion_in_the_background_is_at_once(kubectl: Kubectl) -> None:
    kubectl.apply(build_machine())
    _delete(kubectl, "--cascade=background")
    assert "not found" in kubectl.refused("get", "vm", "web")


@pytest.mark.parametrize(("cascade", "finalizer"), [("foreground", "foregroundDeletion"), ("orphan", "orphan")])
def test_other_deletions_wait_for_what_is_owned(kubectl: Kubectl, cascade: str, finalizer: str) -> None:
    kubectl.apply(build_machine())
    _delete(kubectl, f"--cascade={cascade}")
    metadata = kubectl.get("vm", "web")["metadata"]
    assert metadata["finalizers"] == [finalizer]
    assert metadata["deletionTimestamp"]
    kubectl("patch", "vm", "web", "--type=merge", "-p", FINISH)
    assert "not found" in kubectl.refused("get", "vm", "web")


def test_a_finalizer_holds_an_object_until_it_is_done(kubectl: Kubectl) -> None:
    machine = build_machine()
    machine["metadata"]["finalizers"] = ["example.com/hold"]
    kubectl.apply(machine)
    _delete(kubectl)
    assert kubectl.get("vm", "web")["metadata"]["deletionTimestamp"]
    kubectl("patch", "vm", "web", "--type=merge", "-p", FINISH)
    assert "not found" in kubectl.refused("get", "vm", "web")


def test_many_go_at_once(kubectl: Kubectl) -> None:
    kubectl.apply(*(build_settings(name) for name in "abc"), build_machine())
    kubectl("delete", "configmap", "a", "b")
    kubectl("delete", "configmap", "-l", "tier=front")
    assert kubectl("get", "configmap", "-o", "name") == "configmap/c\n"
    kubectl("delete", "configmap", "--all")
    kubectl("delete", "vm", "-l", "app=web")
    assert kubectl("get", "configmap,vm", "-o", "name") == ""


def test_an_object_is_deleted_now(kubectl: Kubectl) -> None:
    kubectl.apply(build_machine())
    kubectl("delete", "vm", "web", "--now")
    kubectl.apply(build_machine())
    kubectl("delete", "vm", "web", "--grace-period=0", "--force")
    assert "not found" in kubectl.refused("get", "vm", "web")


def test_permanent_namespaces_stay(kubectl: Kubectl) -> None:
    assert "may not be deleted" in kubectl.refused("delete", "namespace", "default", "--wait=false")
