"""Subresources over HTTP: start, stop, restart, expand, and guest actions without a guest."""

from typing import Any

import pytest
from tests.integration.objects import NamespacePaths
from tests.support.loopback import Client, Response

from virtshape.api.model import JsonObject

SMALL: JsonObject = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1",
    "kind": "VirtualMachineInstancetype",
    "metadata": {"name": "small"},
    "spec": {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}},
}
MATCHER: JsonObject = {"name": "small", "kind": "VirtualMachineInstancetype"}
VERSIONS = ("v1", "v1alpha3")


def build_vm(name: str = "vm", **spec: Any) -> JsonObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {
            "runStrategy": "Halted",
            "template": {"spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}}},
            **spec,
        },
    }


def build_sized(**domain: Any) -> JsonObject:
    return build_vm(instancetype=MATCHER, template={"spec": {"domain": {"devices": {}, **domain}}})


class ActionClient:
    """Sends actions for the objects of one namespace."""

    def __init__(self, client: Client, paths: NamespacePaths) -> None:
        self.client = client
        self.namespace = paths.namespace
        self.machines = f"/apis/kubevirt.io/v1/namespaces/{paths.namespace}/virtualmachines"

    def create(self, vm: JsonObject) -> None:
        reply = self.client.post(self.machines, vm)
        assert reply.status == 201, reply.body

    def request(self, action: str, body: object = None, *, version: str = "v1", method: str = "PUT") -> Response:
        path = f"/apis/subresources.kubevirt.io/{version}/namespaces/{self.namespace}/{action}"
        return self.client.send(method, path, body)

    def read(self, name: str = "vm") -> JsonObject:
        tree: JsonObject = self.client.get(f"{self.machines}/{name}").tree
        return tree


@pytest.fixture
def acting(client: Client, paths: NamespacePaths) -> ActionClient:
    small = f"/apis/instancetype.kubevirt.io/v1beta1/namespaces/{paths.namespace}/virtualmachineinstancetypes"
    assert client.post(small, SMALL).status == 201
    return ActionClient(client, paths)


@pytest.mark.parametrize("version", VERSIONS)
def test_start_and_stop_return_202_and_change_the_run_strategy(acting: ActionClient, version: str) -> None:
    acting.create(build_vm())
    for action, strategy in (("start", "Always"), ("stop", "Halted")):
        reply = acting.request(f"virtualmachines/vm/{action}", version=version)
        assert (reply.status, reply.body) == (202, b"")
        assert acting.read()["spec"]["runStrategy"] == strategy


def test_start_with_manual_strategy_adds_a_request_to_the_status(acting: ActionClient) -> None:
    acting.create(build_vm(runStrategy="Manual"))
    assert acting.request("virtualmachines/vm/start", {"paused": True}).status == 202
    asked = {"action": "Start", "data": {"paused": "true"}}
    assert acting.read()["status"] == {"printableStatus": "Stopped", "stateChangeRequests": [asked]}


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("deprecated", "is deprecated: use"),
        ("retired", "is retired: the VM keeps its stored revision; use"),
    ],
)
@pytest.mark.parametrize("strategy", ["Halted", "Manual"])
def test_start_warns_of_a_deprecated_or_retired_instancetype(
    acting: ActionClient, strategy: str, state: str, message: str
) -> None:
    acting.create(build_sized() | {"spec": build_sized()["spec"] | {"runStrategy": strategy}})
    assert acting.request("virtualmachines/vm/start", {"dryRun": ["All"]}).warnings == []
    replacement = "VirtualMachineClusterInstancetype/u1.large"
    metadata = {
        "labels": {"virtshape.io/lifecycle": state},
        "annotations": {"virtshape.io/replacement": replacement},
    }
    path = f"/apis/instancetype.kubevirt.io/v1beta1/namespaces/{acting.namespace}/virtualmachineinstancetypes/small"
    assert acting.client.patch(path, {"metadata": metadata}).status == 200
    reply = acting.request("virtualmachines/vm/start")
    expected = f'VirtualMachineInstancetype \\"small\\" {message} {replacement} instead'
    assert (reply.status, reply.warnings) == (202, [expected])


def test_dry_run_of_start_changes_nothing(acting: ActionClient) -> None:
    acting.create(build_vm())
    before = acting.read()
    assert acting.request("virtualmachines/vm/start", {"dryRun": ["All"]}).status == 202
    assert acting.read() == before


REFUSED: dict[str, tuple[str, str, object, tuple[int, str], str]] = {
    "start of a missing VM": (
        "PUT",
        "virtualmachines/no/start",
        None,
        (404, "NotFound"),
        'virtualmachine.kubevirt.io "no"',
    ),
    "start with Always": (
        "PUT",
        "virtualmachines/always/start",
        None,
        (409, "Conflict"),
        "Always does not support manual start requests",
    ),
    "restart of a halted VM": (
        "PUT",
        "virtualmachines/vm/restart",
        None,
        (409, "Conflict"),
        "Halted does not support manual restart requests",
    ),
    "invalid options": ("PUT", "virtualmachines/vm/start", b"[", (400, "BadRequest"), "Can not unmarshal"),
    "unknown dry run value": (
        "PUT",
        "virtualmachines/vm/start",
        {"dryRun": ["Some"]},
        (400, "BadRequest"),
        "supported values",
    ),
    "GET of start": ("GET", "virtualmachines/vm/start", None, (405, "MethodNotAllowed"), "is not supported"),
    "pause of a missing instance": (
        "PUT",
        "virtualmachineinstances/no/pause",
        None,
        (404, "NotFound"),
        'virtualmachineinstance.kubevirt.io "no"',
    ),
    "pause of an instance that does not run": (
        "PUT",
        "virtualmachineinstances/vmi/pause",
        None,
        (409, "Conflict"),
        "VMI is not running",
    ),
    "console without an upgrade": (
        "GET",
        "virtualmachineinstances/vmi/console",
        None,
        (400, "BadRequest"),
        "VMI is not running",
    ),
    "expansion of a missing VM": ("GET", "virtualmachines/no/expand-spec", None, (404, "NotFound"), "not found"),
    "expansion without a body": ("PUT", "expand-vm-spec", b"", (400, "BadRequest"), "empty request body"),
    "expansion of another kind": ("PUT", "expand-vm-spec", SMALL, (400, "BadRequest"), "not a valid VirtualMachine"),
    "expansion with conflicts": (
        "PUT",
        "expand-vm-spec",
        build_sized(cpu={"cores": 1}),
        (400, "BadRequest"),
        "conflicts with selected instance",
    ),
    "expansion with an unknown field": (
        "PUT",
        "expand-vm-spec",
        build_sized(cpus=1),
        (400, "BadRequest"),
        "not a valid VirtualMachine",
    ),
}


@pytest.mark.parametrize(("method", "action", "body", "reason", "message"), REFUSED.values(), ids=REFUSED)
def test_impossible_actions_are_rejected_with_a_reason(
    acting: ActionClient, method: str, action: str, body: object, reason: tuple[int, str], message: str
) -> None:
    acting.create(build_vm())
    acting.create(build_vm("always", runStrategy="Always"))
    vmi = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "vmi"},
        "spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}},
    }
    assert acting.client.post(acting.machines.replace("machines", "machineinstances"), vmi).status == 201
    reply = acting.request(action, body, method=method)
    assert (reply.reason, message in reply.tree["message"]) == (reason, True), reply.tree


def test_expand_spec_returns_the_expanded_vm(acting: ActionClient) -> None:
    acting.create(build_sized())
    reply = acting.request("virtualmachines/vm/expand-spec", method="GET")
    spec = reply.tree["spec"]
    assert reply.status == 200
    assert "instancetype" not in spec
    assert spec["template"]["spec"]["domain"]["cpu"] == {"sockets": 2, "cores": 1, "threads": 1}
    assert spec["template"]["spec"]["domain"]["memory"] == {"guest": "2Gi"}
    assert acting.read()["spec"]["instancetype"] == MATCHER


def test_posted_vm_is_expanded_in_the_namespace_of_the_path(acting: ActionClient) -> None:
    reply = acting.request("expand-vm-spec", build_sized())
    assert reply.status == 200
    assert reply.tree["metadata"]["namespace"] == acting.namespace
    elsewhere = {**build_sized(), "metadata": {"name": "vm", "namespace": "elsewhere"}}
    assert acting.request("expand-vm-spec", elsewhere).reason == (400, "BadRequest")


@pytest.mark.parametrize("version", VERSIONS)
def test_version_and_health_of_the_subresource_api_are_served(client: Client, version: str) -> None:
    assert client.get(f"/apis/subresources.kubevirt.io/{version}/version").tree["gitVersion"].startswith("v")
    assert client.get(f"/apis/subresources.kubevirt.io/{version}/healthz").tree == {"apiserver": {"connectivity": "ok"}}


@pytest.mark.parametrize("path", ["v2/version", "v1/nothing", "v1/namespaces/default/virtualmachines/vm/fly"])
def test_unknown_paths_return_404_with_a_status(client: Client, path: str) -> None:
    reply = client.get(f"/apis/subresources.kubevirt.io/{path}")
    assert reply.reason == (404, "NotFound")
    assert reply.headers["content-type"] == "application/json"


def test_unknown_action_options_cause_warnings(acting: ActionClient) -> None:
    acting.create(build_vm())
    options = {"apiVersion": "kubevirt.io/v1", "paused": True, "pausd": True, "kind": "StartOptions", "when": "now"}
    reply = acting.request("virtualmachines/vm/start", options)
    assert (reply.status, reply.warnings) == (202, ['unknown field \\"pausd\\"', 'unknown field \\"when\\"'])
