"""check-fit, recommend-instancetypes and preview-migrate-type: previews that store nothing."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.integration.objects import NamespacePaths, build_instancetype
from tests.support.loopback import Client, LoopbackServer, Response

from virtshape.api.model import JsonObject
from virtshape.apiserver.auth.kubeconfig import find_token
from virtshape.apiserver.auth.users import create_user
from virtshape.apiserver.subresources.named import MAX_NAMED
from virtshape.daemon import planner

VERSION = "instancetype.kubevirt.io/v1beta2"
KIND = "VirtualMachineInstancetype"
SMALL = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
LARGE = {"cpu": {"guest": 4}, "memory": {"guest": "6Gi"}}
NODE = "preview-node"


@pytest.fixture(autouse=True)
def sizes(client: Client, paths: NamespacePaths) -> None:
    """Create small, large and unsized instance types, and a preference with requirements."""
    for name, spec in {"small": SMALL, "large": LARGE, "open": {}}.items():
        create(client, paths, VERSION, KIND, name, spec)
    create(client, paths, VERSION, "VirtualMachinePreference", "demanding", {"requirements": {"cpu": {"guest": 2}}})


@pytest.fixture(autouse=True)
def uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the cache, so that each request reads the nodes again."""
    monkeypatch.setattr(planner, "MAX_AGE_SECONDS", -1)


@pytest.fixture
def node(client: Client) -> Iterator[None]:
    """A node with 4 CPUs and 8Gi."""
    metadata = {"name": NODE, "labels": {"kubevirt.io/schedulable": "true", "kubernetes.io/arch": "amd64"}}
    body = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    assert client.post("/api/v1/nodes", body).status == 201
    offered = {"allocatable": {"cpu": "4", "memory": "8Gi"}}
    patched = client.patch(f"/api/v1/nodes/{NODE}/status", {"status": offered}, "application/merge-patch+json")
    assert patched.status == 200, patched.body
    yield
    client.delete(f"/api/v1/nodes/{NODE}")


def create(client: Client, paths: NamespacePaths, version: str, kind: str, name: str, spec: JsonObject) -> None:
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    response = client.post(f"/apis/{version}/namespaces/{paths.namespace}/{kind.lower()}s", body)
    assert response.status == 201, response.body


def preview(client: Client, paths: NamespacePaths, what: str, **body: Any) -> Response:
    return client.put(f"/apis/subresources.kubevirt.io/v1/namespaces/{paths.namespace}/{what}", body)


def named(name: str, kind: str = KIND) -> dict[str, str]:
    return {"name": name, "kind": kind}


def build_vm(instancetype: str = "small", **domain: Any) -> JsonObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web"},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": named(instancetype),
            "template": {"spec": {"domain": {"devices": {}, **domain}}},
        },
    }


@pytest.fixture
def viewer(server: LoopbackServer, client: Client, paths: NamespacePaths) -> Iterator[Client]:
    """A user with the role `view` in the namespace."""
    user = f"viewer-{paths.namespace}"
    made = create_user(server.system.directory, server.url, user, by="token")
    group = "rbac.authorization.k8s.io"
    grant = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
    assert client.post(f"/apis/{group}/v1/namespaces/{paths.namespace}/rolebindings", grant).status == 201
    connected = Client(server.port, find_token(made.kubeconfig) or "")
    yield connected
    connected.close()


@pytest.mark.usefixtures("node")
def test_fit_counts_vms_of_an_instancetype_on_each_node(client: Client, paths: NamespacePaths) -> None:
    answer = preview(client, paths, "check-fit", instancetypes=[named("large")])
    assert (answer.status, answer.tree["items"]) == (
        200,
        [
            {
                "instancetype": named("large"),
                "vcpus": 4,
                "memory": "6Gi",
                "fits": 1,
                "limits": [{"limit": "memory", "nodes": 1}],
                "nodes": [{"node": NODE, "fits": 1, "blockedBy": ["has 2Gi of memory left, 6Gi needed"]}],
            }
        ],
    )


@pytest.mark.usefixtures("node")
def test_fit_shows_no_nodes_to_callers_who_may_not_list_them(viewer: Client, paths: NamespacePaths) -> None:
    (item,) = preview(viewer, paths, "check-fit", instancetypes=[named("small")]).tree["items"]
    assert (item["fits"], item["limits"], "nodes" in item) == (8, [{"limit": "memory", "nodes": 1}], False)


@pytest.mark.usefixtures("node")
def test_fit_counts_copies_of_the_vm_in_the_request(client: Client, paths: NamespacePaths) -> None:
    vm = build_vm("open", cpu={"guest": 2}, memory={"guest": "3Gi"})
    (item,) = preview(client, paths, "check-fit", virtualMachine=vm).tree["items"]
    assert (item["vcpus"], item["memory"], item["fits"], "instancetype" in item) == (2, "3Gi", 2, False)
    selecting = build_vm()
    selecting["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    (item,) = preview(client, paths, "check-fit", virtualMachine=selecting).tree["items"]
    assert item["nodes"][0]["blockedBy"] == ["does not have the label disk=ssd that the node selector requires"]
    assert item["limits"] == [{"limit": "node selectors, affinity, taints or cordoned nodes", "nodes": 1}]


@pytest.mark.usefixtures("node")
def test_fit_without_names_lists_instancetypes_that_have_a_size_and_meet_the_preference(
    client: Client, paths: NamespacePaths
) -> None:
    items = preview(client, paths, "check-fit").tree["items"]
    assert [item["instancetype"] for item in items] == [named("large"), named("small")]
    items = preview(client, paths, "check-fit", preference=named("demanding", "VirtualMachinePreference")).tree["items"]
    assert [item["instancetype"]["name"] for item in items] == ["large"]


def test_no_vm_fits_without_nodes(client: Client, paths: NamespacePaths) -> None:
    (item,) = preview(client, paths, "check-fit", instancetypes=[named("small")]).tree["items"]
    assert (item["fits"], item["limits"], item["nodes"]) == (0, [], [])


@pytest.mark.parametrize(
    ("body", "expected", "fragment"),
    [
        ({"instancetypes": [named("open")]}, (422, "Invalid"), "open: does not set vCPUs or memory"),
        (
            {"instancetypes": [named("small")], "preference": named("demanding", "VirtualMachinePreference")},
            (422, "Invalid"),
            "preference requires 2 vCPU",
        ),
        ({"instancetypes": [named("absent")]}, (404, "NotFound"), "absent"),
        ({"instancetypes": [named("small")] * (MAX_NAMED + 1)}, (400, "BadRequest"), "at most 25 items"),
        ({"instancetype": named("small")}, (400, "BadRequest"), "instancetype"),
        ({"virtualMachine": build_vm(), "preference": named("demanding")}, (400, "BadRequest"), "cannot be combined"),
        ({"virtualMachine": build_vm(cpu={"sockets": 2})}, (422, "Invalid"), "cpu.sockets"),
        (
            {"virtualMachine": {**build_vm(), "metadata": {"name": "web", "namespace": "other"}}},
            (400, "BadRequest"),
            "VM namespace must be empty or",
        ),
    ],
    ids=["open", "preference", "absent", "many", "unknown field", "both", "conflict", "namespace"],
)
def test_invalid_fit_requests_are_refused(
    client: Client, paths: NamespacePaths, body: JsonObject, expected: tuple[int, str], fragment: str
) -> None:
    answer = preview(client, paths, "check-fit", **body)
    assert answer.reason == expected
    assert fragment in answer.tree["message"]


@pytest.mark.parametrize("memory", ["1e10000001", "-1e10000001", "1e-999999999"])
@pytest.mark.parametrize("bound", ["memoryMin", "memoryMax"])
def test_recommendation_handles_amounts_beyond_the_range_of_decimals(
    client: Client, paths: NamespacePaths, bound: str, memory: str
) -> None:
    created = client.post(paths.instancetypes(), build_instancetype("huge", memory="1e10000000"))
    assert created.status == 201, created.body
    answer = preview(client, paths, "recommend-instancetypes", **{bound: memory})
    assert answer.status == 200, answer.body
    client.delete(f"{paths.instancetypes()}/huge")


def test_recommendation_lists_instancetypes_with_the_least_waste_first(client: Client, paths: NamespacePaths) -> None:
    answer = preview(client, paths, "recommend-instancetypes", memoryMin="512Mi")
    assert [item["name"] for item in answer.tree["items"]] == ["small", "large"]
    assert answer.tree["items"][0] == {
        "kind": KIND,
        "name": "small",
        "vcpus": 1,
        "memory": "1Gi",
        "custom": False,
        "dedicated": False,
        "hugepages": None,
        "gpus": 0,
        "waste": {"cpu": None, "memory": 50.0},
        "reason": "512Mi of 1Gi needed",
    }
    preference = named("demanding", "VirtualMachinePreference")
    answer = preview(client, paths, "recommend-instancetypes", preference=preference)
    assert [(item["name"], item["waste"]["cpu"]) for item in answer.tree["items"]] == [("large", 50.0)]


@pytest.mark.parametrize(
    ("body", "names", "reason"),
    [
        (
            {"usage": {"cpu": "2.3", "memory": "4Gi"}},
            ["large"],
            "3 of 4 vCPUs needed; 4916Mi of 6Gi needed",
        ),
        ({"usage": {"cpu": 0.8}, "headroom": 0}, ["small", "large"], "1 of 1 vCPU needed"),
        ({"usage": {"cpu": "0.8"}, "headroom": 100}, ["large"], "2 of 4 vCPUs needed"),
        ({"usage": {"cpu": "2.3"}, "cpuMin": 1}, ["small", "large"], "1 of 1 vCPU needed"),
        ({"like": "AWS:t3.medium"}, ["large"], "2 of 4 vCPUs needed; 4Gi of 6Gi needed"),
        ({"like": "aws:t3.nano", "cpuMin": 1}, ["small", "large"], "1 of 1 vCPU needed; 512Mi of 1Gi needed"),
    ],
    ids=["usage", "no headroom", "headroom", "usage and minimum", "cloud size", "cloud size and minimum"],
)
def test_recommendation_uses_measured_usage_or_the_size_of_a_cloud(
    client: Client, paths: NamespacePaths, body: JsonObject, names: list[str], reason: str
) -> None:
    items = preview(client, paths, "recommend-instancetypes", **body).tree["items"]
    assert [item["name"] for item in items] == names
    assert items[0]["reason"] == reason


def test_recommendation_for_a_cloud_size_with_a_gpu_requires_a_gpu(client: Client, paths: NamespacePaths) -> None:
    answer = preview(client, paths, "recommend-instancetypes", like="aws:g4dn.xlarge")
    assert answer.tree["items"] == []
    assert answer.tree["closest"][0] == {
        **named("large"),
        "reasons": ["6Gi of memory, at least 16Gi required", "no GPU, 1 required"],
    }


@pytest.mark.parametrize("amount", ["1e10000001", "1e-999999999"])
def test_recommendation_handles_usage_beyond_the_range_of_decimals(
    client: Client, paths: NamespacePaths, amount: str
) -> None:
    usage = {"cpu": amount, "memory": amount}
    answer = preview(client, paths, "recommend-instancetypes", usage=usage, headroom=1000)
    assert answer.status == 200, answer.body


def test_recommendation_includes_instancetypes_without_a_size_on_request(client: Client, paths: NamespacePaths) -> None:
    answer = preview(client, paths, "recommend-instancetypes", cpuMin=3, memoryMin="3Gi", custom=True)
    assert [(one["name"], one["vcpus"], one["memory"], one["custom"]) for one in answer.tree["items"]] == [
        ("open", 3, "3Gi", True),
        ("large", 4, "6Gi", False),
    ]


def test_recommendation_without_a_match_lists_the_closest_instancetypes_with_reasons(
    client: Client, paths: NamespacePaths
) -> None:
    answer = preview(client, paths, "recommend-instancetypes", cpuMin=8)
    assert (answer.status, answer.tree["items"]) == (200, [])
    assert answer.tree["closest"][0] == {**named("large"), "reasons": ["4 vCPUs, at least 8 required"]}


@pytest.mark.parametrize(
    ("body", "expected", "fragment"),
    [
        ({"cpuMin": 0, "maxWaste": 101}, (400, "BadRequest"), "maxWaste: must be from 0 to 100"),
        ({"cpuMin": 4, "cpuMax": 2}, (400, "BadRequest"), "cpuMin: must not be greater than cpuMax"),
        ({"memoryMin": "4Gi", "memoryMax": "2Gi"}, (400, "BadRequest"), "must not be greater than memoryMax"),
        ({"memoryMin": "4Gx"}, (400, "BadRequest"), "4Gx"),
        ({"vcpus": 4}, (400, "BadRequest"), "vcpus"),
        ({"preference": {"name": "absent"}}, (404, "NotFound"), "absent"),
    ],
    ids=["bounds", "vCPUs", "memory", "quantity", "unknown field", "preference"],
)
def test_invalid_recommend_requests_are_refused(
    client: Client, paths: NamespacePaths, body: JsonObject, expected: tuple[int, str], fragment: str
) -> None:
    answer = preview(client, paths, "recommend-instancetypes", **body)
    assert answer.reason == expected
    assert fragment in answer.tree["message"]


@pytest.mark.parametrize(
    ("body", "causes"),
    [
        ({"usage": {}}, {"usage": "must set cpu or memory"}),
        ({"usage": {"cpu": "0"}}, {"usage.cpu": 'invalid amount "0": must be greater than 0'}),
        ({"usage": {"cpu": "1"}, "headroom": 1001}, {"headroom": "must be from 0 to 1000"}),
        ({"headroom": 10}, {"headroom": "requires usage"}),
        ({"usage": {"cpu": "1"}, "like": "aws:m5.large"}, {"like": "cannot be combined with usage"}),
        (
            {"like": "aws:m5.larg", "maxWaste": 101},
            {
                "maxWaste": "must be from 0 to 100",
                "like": 'unknown instance type "aws:m5.larg"; did you mean aws:m5.large or aws:m5a.large or '
                "aws:m5.xlarge?",
            },
        ),
    ],
    ids=["no amount", "no usage", "large headroom", "headroom alone", "two sources", "unknown size"],
)
def test_invalid_usage_and_cloud_sizes_are_reported_with_their_fields(
    client: Client, paths: NamespacePaths, body: JsonObject, causes: dict[str, str]
) -> None:
    answer = preview(client, paths, "recommend-instancetypes", **body)
    assert answer.reason == (400, "BadRequest")
    assert {cause["field"]: cause["message"] for cause in answer.tree["details"]["causes"]} == causes
    assert answer.tree["message"] == "; ".join(f"{field}: {message}" for field, message in causes.items())


def test_migrate_type_preview_lists_changes_and_the_time_they_apply(client: Client, paths: NamespacePaths) -> None:
    assert client.post(paths.vms(), build_vm()).status == 201
    answer = preview(client, paths, "preview-migrate-type", virtualMachine="web", instancetype=named("large"))
    assert answer.status == 200, answer.body
    assert (answer.tree["from"], answer.tree["to"], answer.tree["applies"]) == (
        named("small"),
        named("large"),
        "at start",
    )
    assert answer.tree["fields"] == [
        {"field": "spec.cpu.guest", "then": 1, "now": 4},
        {"field": "spec.memory.guest", "then": "1Gi", "now": "6Gi"},
    ]
    assert {"field": "spec.domain.memory.guest", "then": "1Gi", "now": "6Gi"} in answer.tree["changes"]
    assert (answer.tree["problems"], answer.tree["warnings"]) == ([], [])
    assert client.get(paths.vms("web")).tree["spec"]["instancetype"]["name"] == "small"


def test_migrate_type_preview_has_the_reasons_why_the_vm_cannot_move(client: Client, paths: NamespacePaths) -> None:
    assert client.post(paths.vms(), build_vm()).status == 201
    preference = named("demanding", "VirtualMachinePreference")
    answer = preview(client, paths, "preview-migrate-type", virtualMachine="web", preference=preference)
    assert answer.tree["changes"] is None
    (problem,) = answer.tree["problems"]
    assert problem.startswith("failure checking preference requirements: insufficient CPU resources of 1 vCPU")


def test_patch_in_a_migrate_type_preview_replaces_a_flavor(client: Client, paths: NamespacePaths) -> None:
    create(client, paths, "flavor.kubevirt.io/v1alpha1", "VirtualMachineFlavor", "tiny", SMALL)
    vm = build_vm()
    del vm["spec"]["instancetype"]
    vm["spec"]["flavor"] = named("tiny", "VirtualMachineFlavor")
    assert client.post(paths.vms(), vm).status == 201
    answer = preview(client, paths, "preview-migrate-type", virtualMachine="web", instancetype=named("large"))
    assert (answer.tree["from"], answer.tree["problems"]) == (named("tiny", "VirtualMachineFlavor"), [])
    patched = client.patch(paths.vms("web"), answer.tree["patch"], "application/merge-patch+json")
    assert patched.status == 200, patched.body
    assert "flavor" not in patched.tree["spec"]
    assert patched.tree["spec"]["instancetype"]["name"] == "large"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"virtualMachine": "web", "instancetype": named("absent")}, (404, "NotFound")),
        ({"virtualMachine": "absent", "instancetype": named("large")}, (404, "NotFound")),
        ({"virtualMachine": "web"}, (400, "BadRequest")),
        ({"virtualMachine": "web", "instancetype": named("large"), "preference": named("x")}, (400, "BadRequest")),
        ({"virtualMachine": "web", "instancetype": named("large", "Pod")}, (422, "Invalid")),
    ],
    ids=["instance type", "VM", "nothing", "both", "kind"],
)
def test_invalid_migrate_type_preview_requests_are_refused(
    client: Client, paths: NamespacePaths, body: JsonObject, expected: tuple[int, str]
) -> None:
    assert client.post(paths.vms(), build_vm()).status == 201
    assert preview(client, paths, "preview-migrate-type", **body).reason == expected


LIMITED = {"cpu": {"limits": {"min": 2, "max": 8, "step": 2}}, "memory": {"limits": {"perVCPU": {"max": "4Gi"}}}}


def test_customized_instancetype_has_the_new_size_and_unchanged_other_limits(
    client: Client, paths: NamespacePaths
) -> None:
    create(client, paths, VERSION, KIND, "limited", LIMITED)
    answer = preview(client, paths, "customize-instancetype", source=named("limited"), name="ours", memory="16Gi")
    assert (answer.status, answer.tree["problems"]) == (200, [])
    assert answer.tree["instancetype"] == {
        "apiVersion": VERSION,
        "kind": KIND,
        "metadata": {"name": "ours", "namespace": paths.namespace},
        "spec": {"cpu": {"limits": {"min": 4, "max": 8, "step": 2}}, "memory": {"guest": "16Gi"}},
    }


def test_customize_can_remove_the_vcpus_from_a_cluster_wide_copy(client: Client, paths: NamespacePaths) -> None:
    wanted = {"source": named("small"), "name": "ours", "cluster": True, "open": ["vcpus"]}
    made = preview(client, paths, "customize-instancetype", **wanted).tree["instancetype"]
    assert (made["kind"], made["metadata"]) == ("VirtualMachineClusterInstancetype", {"name": "ours"})
    assert made["spec"] == {"cpu": {}, "memory": {"guest": "1Gi"}}


def test_customize_reports_sizes_that_the_sizing_policy_excludes(client: Client, paths: NamespacePaths) -> None:
    create(client, paths, VERSION, KIND, "limited", LIMITED)
    wanted = {"source": named("limited"), "name": "ours", "vcpus": 5, "memory": "100Gi"}
    answer = preview(client, paths, "customize-instancetype", **wanted)
    assert "instancetype" not in answer.tree
    assert [(problem["field"], problem["message"].partition(":")[0]) for problem in answer.tree["problems"]] == [
        ("spec.cpu.guest", "spec.cpu.guest '5'"),
        ("spec.memory.guest", "spec.memory.guest '100Gi'"),
    ]


@pytest.mark.parametrize(
    ("body", "expected", "fragment"),
    [
        ({"memory": "4 gigabytes"}, (400, "BadRequest"), "memory"),
        ({"vcpus": 0}, (400, "BadRequest"), "vcpus: must be at least 1"),
        ({"open": ["cpus"]}, (400, "BadRequest"), 'open[0]: unknown size "cpus"'),
        ({"open": ["memory"], "memory": "1Gi"}, (400, "BadRequest"), "memory: must not be set"),
        ({"source": named("absent")}, (404, "NotFound"), "absent"),
    ],
    ids=["quantity", "vCPUs", "open", "both", "source"],
)
def test_invalid_customize_requests_are_refused(
    client: Client, paths: NamespacePaths, body: JsonObject, expected: tuple[int, str], fragment: str
) -> None:
    answer = preview(client, paths, "customize-instancetype", **{"source": named("small"), "name": "ours", **body})
    assert answer.reason == expected
    assert fragment in answer.tree["message"]


PREVIEWS = ("check-fit", "recommend-instancetypes", "preview-migrate-type")


@pytest.mark.parametrize("what", PREVIEWS)
def test_previews_require_a_role_in_the_namespace(viewer: Client, paths: NamespacePaths, what: str) -> None:
    wanted = {"virtualMachine": "absent", "instancetype": named("large")} if what == "preview-migrate-type" else {}
    assert preview(viewer, paths, what, **wanted).status in (200, 404)
    assert preview(viewer, NamespacePaths("default"), what, **wanted).reason == (403, "Forbidden")
