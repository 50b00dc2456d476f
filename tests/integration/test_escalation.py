"""Privilege escalation over HTTP through labels, role aggregation and forged system accounts."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.integration.objects import NamespacePaths, build_vm, create
from tests.integration.test_access import RBAC, acting, grant, request_token, rule
from tests.support.loopback import JSON_PATCH, Client, LoopbackServer

from virtshape.api.model import JsonObject

GROUP = "rbac.authorization.k8s.io"
CLUSTER_ADMIN = f"{RBAC}/clusterroles/cluster-admin"
TO_VIEW = {"metadata": {"labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}}


def build_cluster(kind: str, name: str, **rest: Any) -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, **rest}


def bind(client: Client, name: str, role: str, user: str) -> None:
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}
    subjects = [{"apiGroup": GROUP, "kind": "User", "name": user}]
    binding = build_cluster("ClusterRoleBinding", name, roleRef=reference, subjects=subjects)
    assert client.post(f"{RBAC}/clusterrolebindings", binding).status in (201, 409)


@pytest.fixture
def editor(client: Client, server: LoopbackServer) -> Iterator[Client]:
    """A user with the role `view` who may also change cluster roles."""
    rules = [rule("get list patch update create", "clusterroles", GROUP)]
    assert client.post(f"{RBAC}/clusterroles", build_cluster("ClusterRole", "role-editor", rules=rules)).status in (
        201,
        409,
    )
    bind(client, "role-editor", "role-editor", "carol")
    bind(client, "carol-views", "view", "carol")
    connected = acting(server, "carol")
    yield connected
    connected.close()


def test_adding_an_aggregation_label_cannot_escalate_a_role(
    client: Client, editor: Client, paths: NamespacePaths
) -> None:
    reply = editor.patch(CLUSTER_ADMIN, TO_VIEW)
    assert reply.reason == (403, "Forbidden")
    assert "attempting to grant RBAC permissions not currently held" in reply.tree["message"]
    assert editor.post(paths.core("secrets"), {"metadata": {"name": "mine"}}).status == 403
    assert (
        TO_VIEW["metadata"]["labels"]
        .items()
        .isdisjoint((client.get(CLUSTER_ADMIN).tree["metadata"].get("labels") or {}).items())
    )


def test_patch_type_and_dry_run_do_not_bypass_the_escalation_check(editor: Client) -> None:
    label = {"op": "add", "path": "/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-view", "value": "true"}
    assert editor.patch(CLUSTER_ADMIN, [label], JSON_PATCH).status == 403
    assert editor.patch(CLUSTER_ADMIN, TO_VIEW, dryRun="All").status == 403
    applied = {**build_cluster("ClusterRole", "cluster-admin"), **TO_VIEW}
    applied["metadata"] = {"name": "cluster-admin", **TO_VIEW["metadata"]}
    assert editor.apply(CLUSTER_ADMIN, applied).status == 403


def test_only_a_cluster_admin_can_change_an_aggregation_rule(client: Client, editor: Client) -> None:
    relabelled = {"metadata": {"labels": {"example.com/aggregate-to-anything": "true"}}}
    reply = editor.patch(f"{RBAC}/clusterroles/view", relabelled)
    assert reply.status == 403
    assert "must have cluster-admin privileges to use the aggregationRule" in reply.tree["message"]
    dropped = editor.patch(f"{RBAC}/clusterroles/view", {"aggregationRule": None})
    assert dropped.status == 403
    assert client.patch(f"{RBAC}/clusterroles/view", relabelled, dryRun="All").status == 200


def test_aggregation_label_can_be_added_to_a_role_within_own_permissions(client: Client, editor: Client) -> None:
    weak = build_cluster("ClusterRole", "weak", rules=[rule("get", "configmaps")])
    assert client.post(f"{RBAC}/clusterroles", weak).status == 201
    assert editor.patch(f"{RBAC}/clusterroles/weak", TO_VIEW).status == 200


@pytest.mark.parametrize("account", ["robot", "virtshape-controller", "kubevirt-controller"])
def test_namespace_and_name_of_a_service_account_grant_no_special_permissions(
    server: LoopbackServer, client: Client, paths: NamespacePaths, account: str
) -> None:
    system = NamespacePaths("kubevirt")
    made = client.post(system.core("serviceaccounts"), {"metadata": {"name": account}})
    assert made.status in (201, 409)
    subject = {"kind": "ServiceAccount", "name": account, "namespace": "kubevirt"}
    grant(client, paths, rule("*", "virtualmachineinstances", "kubevirt.io"), subject=subject)
    attacker = server.connect()
    attacker.headers["Authorization"] = f"Bearer {request_token(client, system, account).tree['status']['token']}"
    instances = f"/apis/kubevirt.io/v1/namespaces/{paths.namespace}/virtualmachineinstances"
    spec = build_vm()["spec"]["template"]["spec"]
    vmi = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "one"}, "spec": spec}
    [stored] = create(attacker, instances, vmi)
    reply = attacker.patch(f"{instances}/one", {"spec": {"hostname": "other"}})
    assert reply.status == 422, reply.body
    assert "update of VMI object is restricted" in reply.tree["message"]
    assert client.get(f"{instances}/one").tree["spec"] == stored["spec"]
    attacker.close()


def test_user_cannot_write_the_status_of_an_instance(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    subject = {"apiGroup": GROUP, "kind": "User", "name": "dave"}
    grant(client, paths, rule("*", "virtualmachineinstances", "kubevirt.io"), subject=subject)
    attacker = acting(server, "dave")
    instances = f"/apis/kubevirt.io/v1/namespaces/{paths.namespace}/virtualmachineinstances"
    spec = build_vm()["spec"]["template"]["spec"]
    forged = {"phase": "Running", "nodeName": "node1", "activePods": {"x": "node1"}, "VSOCKCID": 3}
    vmi = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "one"},
        "spec": spec,
        "status": forged,
    }
    [stored] = create(attacker, instances, vmi)
    assert (stored["status"]["phase"], forged.keys() & stored["status"].keys()) == ("Pending", {"phase"})
    assert attacker.patch(f"{instances}/one", {"status": forged}).status == 200
    assert attacker.put(
        f"{instances}/one", {**stored, "status": forged, "metadata": {**stored["metadata"]}}
    ).status in (
        200,
        409,
    )
    assert client.get(f"{instances}/one").tree["status"] == stored["status"]
    attacker.close()


def test_server_side_apply_of_a_new_object_requires_the_create_permission(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    subject = {"apiGroup": GROUP, "kind": "User", "name": "erin"}
    grant(client, paths, rule("get patch", "configmaps", resourceNames=["settings"]), subject=subject)
    erin = acting(server, "erin")
    path = paths.core("configmaps", "settings")
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
    reply = erin.apply(path, applied)
    assert reply.reason == (403, "Forbidden")
    assert 'User "erin" cannot create resource "configmaps"' in reply.tree["message"]
    assert client.get(path).status == 404
    create(client, paths.core("configmaps"), applied)
    assert erin.apply(path, {**applied, "data": {"b": "2"}}).status == 200
    erin.close()
