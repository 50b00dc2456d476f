"""explain-vm-spec and check-compatibility: previews that store nothing."""

from typing import Any

import pytest
from tests.integration.objects import NamespacePaths
from tests.support.loopback import Client, LoopbackServer, Response

from virtshape.apiserver.auth.kubeconfig import find_token
from virtshape.apiserver.auth.users import create_user
from virtshape.apiserver.subresources.named import MAX_NAMED

VERSION = "instancetype.kubevirt.io/v1beta1"
DOMAIN = "spec.template.spec.domain"


@pytest.fixture(autouse=True)
def sizes(client: Client, paths: NamespacePaths) -> None:
    """Create small, large and unsized instance types, and preferences with and without requirements."""
    for name, spec in {
        "small": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
        "large": {"cpu": {"guest": 4}, "memory": {"guest": "8Gi"}},
    }.items():
        create(client, paths, VERSION, "VirtualMachineInstancetype", name, spec)
    create(client, paths, "instancetype.kubevirt.io/v1beta2", "VirtualMachineInstancetype", "open", {})
    requirements = {"cpu": {"guest": 2}, "memory": {"guest": "4Gi"}}
    create(client, paths, VERSION, "VirtualMachinePreference", "demanding", {"requirements": requirements})
    create(
        client,
        paths,
        VERSION,
        "VirtualMachinePreference",
        "modest",
        {"machine": {"preferredMachineType": "pc-q35-8.2"}},
    )


def create(client: Client, paths: NamespacePaths, version: str, kind: str, name: str, spec: dict[str, Any]) -> None:
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    response = client.post(f"/apis/{version}/namespaces/{paths.namespace}/{kind.lower()}s", body)
    assert response.status == 201, response.body


def build_vm(instancetype: str = "small", preference: str = "modest", **domain: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web"},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": {"name": instancetype, "kind": "VirtualMachineInstancetype"},
            "preference": {"name": preference, "kind": "VirtualMachinePreference"},
            "template": {"spec": {"domain": {"devices": {}, **domain}}},
        },
    }


def explain(client: Client, paths: NamespacePaths, vm: object) -> Response:
    return client.put(f"/apis/subresources.kubevirt.io/v1/namespaces/{paths.namespace}/explain-vm-spec", vm)


def check(client: Client, paths: NamespacePaths, **body: list[dict[str, str]]) -> Response:
    return client.put(f"/apis/subresources.kubevirt.io/v1/namespaces/{paths.namespace}/check-compatibility", body)


def name(name: str, kind: str) -> dict[str, str]:
    return {"name": name, "kind": kind}


def test_explanation_has_the_expanded_vm_and_the_origin_of_each_field(client: Client, paths: NamespacePaths) -> None:
    answer = explain(client, paths, build_vm(chassis={"asset": "a"}))
    assert (answer.status, answer.tree["problems"]) == (200, [])
    assert answer.tree["virtualMachine"]["spec"]["template"]["spec"]["domain"]["memory"] == {"guest": "1Gi"}
    origins = {one.pop("field"): one for one in answer.tree["origins"]}
    assert [origins[f"{DOMAIN}.{field}"] for field in ("chassis.asset", "memory.guest", "machine.type")] == [
        {"value": "a", "origin": "user", "source": "web"},
        {"value": "1Gi", "origin": "instancetype", "source": "small"},
        {"value": "pc-q35-8.2", "origin": "preference", "source": "modest"},
    ]
    assert origins["spec.template.spec.evictionStrategy"] == {"value": "None", "origin": "default"}


def test_explained_vm_equals_the_expanded_vm(client: Client, paths: NamespacePaths) -> None:
    target = f"/apis/subresources.kubevirt.io/v1/namespaces/{paths.namespace}/expand-vm-spec"
    vm = build_vm(chassis={"asset": "a"})
    assert explain(client, paths, vm).tree["virtualMachine"] == client.put(target, vm).tree


def test_explanation_has_the_problems_of_a_dry_run_and_the_expanded_vm(client: Client, paths: NamespacePaths) -> None:
    vm = build_vm("small", "demanding")
    explained = explain(client, paths, vm)
    refused = client.post(paths.vms(), vm, dryRun="All")
    assert (explained.status, refused.status) == (200, 422)
    causes = refused.tree["details"]["causes"]
    assert [(one["field"], one["reason"], one["message"]) for one in explained.tree["problems"]] == [
        (cause["field"], cause["reason"], cause["message"]) for cause in causes
    ]
    assert len(causes) == 2
    assert explained.tree["virtualMachine"]["spec"]["template"]["spec"]["domain"]["memory"] == {"guest": "1Gi"}


@pytest.mark.parametrize(
    ("vm", "fields"),
    [
        pytest.param(build_vm("smal"), ["spec.instancetype.name"], id="missing instance type"),
        pytest.param(build_vm(cpu={"cores": 2}), [f"{DOMAIN}.cpu.cores"], id="conflict"),
    ],
)
def test_explanation_of_a_vm_that_cannot_be_expanded_has_only_problems(
    client: Client, paths: NamespacePaths, vm: dict[str, Any], fields: list[str]
) -> None:
    answer = explain(client, paths, vm)
    assert (answer.status, [one["field"] for one in answer.tree["problems"]]) == (200, fields)
    assert ("virtualMachine" in answer.tree, answer.tree["origins"]) == (False, [])


def test_explanation_of_an_inferred_reference_names_its_volume(client: Client, paths: NamespacePaths) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "disk",
            "labels": {
                "instancetype.kubevirt.io/default-instancetype": "large",
                "instancetype.kubevirt.io/default-instancetype-kind": "VirtualMachineInstancetype",
            },
        },
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    assert client.post(paths.core("persistentvolumeclaims"), claim).status == 201
    vm = build_vm()
    vm["spec"]["instancetype"] = {"inferFromVolume": "root"}
    vm["spec"]["template"]["spec"]["volumes"] = [{"name": "root", "persistentVolumeClaim": {"claimName": "disk"}}]
    answer = explain(client, paths, vm)
    assert answer.tree["inferred"] == [
        {"field": "spec.instancetype", "kind": "VirtualMachineInstancetype", "name": "large", "volume": "root"}
    ]
    vm["spec"]["instancetype"] = {"inferFromVolume": "other"}
    assert [one["field"] for one in explain(client, paths, vm).tree["problems"]] == [
        "spec.instancetype.inferFromVolume"
    ]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"kind": "Pod"}', b"[" * 100_000, b'"\xff"'],
    ids=["empty", "broken", "a list", "another kind", "deep", "not UTF-8"],
)
def test_explain_rejects_a_body_that_is_not_a_vm(client: Client, paths: NamespacePaths, body: bytes) -> None:
    assert explain(client, paths, body).reason == (400, "BadRequest")


def test_explain_reports_invalid_values_by_field(client: Client, paths: NamespacePaths) -> None:
    answer = explain(client, paths, build_vm(memory={"guest": "4Gx"}))
    assert answer.status == 400
    assert [cause["field"] for cause in answer.tree["details"]["causes"]] == [f"{DOMAIN}.memory.guest"]


def test_explain_stores_nothing(client: Client, paths: NamespacePaths) -> None:
    explain(client, paths, build_vm())
    assert client.get(paths.vms()).tree["items"] == []


def test_check_compatibility_has_a_reason_for_each_incompatible_object(client: Client, paths: NamespacePaths) -> None:
    kind = "VirtualMachineInstancetype"
    named = [name(each, kind) for each in ("small", "large", "open")]
    answer = check(client, paths, instancetypes=named, preferences=[name("demanding", "VirtualMachinePreference")])
    assert answer.status == 200
    assert [(one["instancetype"], one["compatible"]) for one in answer.tree["items"]] == [
        (name("small", kind), False),
        (name("large", kind), True),
        (name("open", kind), True),
    ]
    assert [problem["message"] for problem in answer.tree["items"][0]["problems"]] == [
        "insufficient CPU resources of 1 vCPU provided by instance type, preference requires 2 vCPU",
        "insufficient Memory resources of 1Gi provided by instance type, preference requires 4Gi",
    ]


def test_check_compatibility_without_names_checks_all_usable_objects(client: Client, paths: NamespacePaths) -> None:
    preference = name("modest", "VirtualMachinePreference")
    items = check(client, paths, preferences=[preference]).tree["items"]
    assert {"small", "large", "open"} <= {one["instancetype"]["name"] for one in items}
    items = check(client, paths, instancetypes=[name("small", "VirtualMachineInstancetype")]).tree["items"]
    found = {one["preference"]["name"]: one["compatible"] for one in items}
    assert (found["demanding"], found["modest"]) == (False, True)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (400, "BadRequest")),
        ({"preferences": [{"name": "absent"}]}, (404, "NotFound")),
        ({"preferences": [{"name": "modest", "kind": "Pod"}]}, (422, "Invalid")),
        ({"preferences": [{"names": "modest"}]}, (400, "BadRequest")),
        ({"preferences": [{"name": "modest"}] * (MAX_NAMED + 1)}, (400, "BadRequest")),
    ],
)
def test_invalid_compatibility_requests_are_refused(
    client: Client, paths: NamespacePaths, body: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert check(client, paths, **body).reason == expected


def test_explain_and_check_compatibility_require_permission(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    made = create_user(server.system.directory, server.url, "visitor", by="token")
    visitor = Client(server.port, find_token(made.kubeconfig) or "")
    assert explain(visitor, paths, build_vm()).reason == (403, "Forbidden")
    assert check(visitor, paths, preferences=[name("modest", "VirtualMachinePreference")]).reason == (403, "Forbidden")
    grant = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "visitor"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "visitor"}],
    }
    target = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{paths.namespace}/rolebindings"
    assert client.post(target, grant).status == 201
    assert explain(visitor, paths, build_vm()).status == 200
    assert check(visitor, paths, preferences=[name("modest", "VirtualMachinePreference")]).status == 200
    visitor.close()
