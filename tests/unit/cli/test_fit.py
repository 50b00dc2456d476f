"""`virtctl fit` with a read-only server: nodes of a standalone server and of a cluster."""

import asyncio
import json
from typing import Any, cast

import click
import pytest
import yaml
from tests.support.commands import CommandResult, call_virtctl

from virtshape.api.model import JsonObject
from virtshape.cli.connection import Session
from virtshape.cli.fit import command, complete_instancetype, complete_node
from virtshape.client.access import Access
from virtshape.client.rest import RestClient
from virtshape.client.transport import Call, Reply

GROUP = "instancetype.kubevirt.io"
CLUSTER = "VirtualMachineClusterInstancetype"
MISSING = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}
SCHEDULABLE = {"kubevirt.io/schedulable": "true", "kubernetes.io/arch": "amd64"}
VMS = "/apis/kubevirt.io/v1/namespaces/team/virtualmachines"


class FakeServer:
    """A server that returns documents by path."""

    def __init__(self, documents: dict[str, JsonObject]) -> None:
        self._documents = documents

    async def call(self, call: Call) -> Reply:
        found = self._documents.get(call.target.partition("?")[0], MISSING)
        return Reply(found["code"] if found.get("kind") == "Status" else 200, {}, json.dumps(found).encode())


def build_node(name: str, labels: dict[str, str] | None = None, **offered: str) -> JsonObject:
    allocatable = {"cpu": "4", "memory": "8Gi", **offered}
    metadata = {"name": name, "labels": SCHEDULABLE if labels is None else labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}


def build_type(name: str, **spec: Any) -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1beta2", "kind": CLUSTER, "metadata": {"name": name}, "spec": spec}


def build_instance(name: str, memory: str, node: str) -> JsonObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": "other"},
        "spec": {"domain": {"devices": {}, "memory": {"guest": memory}}},
        "status": {"phase": "Running", "nodeName": node},
    }


def build_pod(name: str, memory: str, node: str) -> JsonObject:
    containers = [{"name": "a", "resources": {"requests": {"memory": memory}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "other"},
        "spec": {"nodeName": node, "containers": containers},
        "status": {"phase": "Running"},
    }


SMALL = build_type("small", cpu={"guest": 1}, memory={"guest": "2Gi"})
PINNED = build_type("pinned", cpu={"guest": 2, "dedicatedCPUPlacement": True}, memory={"guest": "1Gi"})
OPEN = build_type("open", cpu={}, memory={})
STRICT = {
    "apiVersion": f"{GROUP}/v1beta2",
    "kind": "VirtualMachineClusterPreference",
    "metadata": {"name": "strict"},
    "spec": {"requirements": {"cpu": {"guest": 2}}},
}
WEB = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "namespace": "team"},
    "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"devices": {}, "memory": {"guest": "3Gi"}}}}},
}


@pytest.fixture
def fit(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs the command against a server with the given nodes, instances and pods."""

    def call(
        *arguments: str,
        nodes: list[JsonObject] | None = None,
        vmis: list[JsonObject] | None = None,
        pods: list[JsonObject] | None = None,
    ) -> CommandResult:
        types = f"/apis/{GROUP}/v1beta2"
        listed = {
            "/api/v1/nodes": [build_node("a")] if nodes is None else nodes,
            "/api/v1/pods": pods or [],
            "/apis/kubevirt.io/v1/virtualmachineinstances": vmis or [],
            f"{types}/virtualmachineclusterinstancetypes": [SMALL, PINNED, OPEN],
            f"{types}/namespaces/team/virtualmachineinstancetypes": [],
            f"{types}/virtualmachineclusterpreferences": [STRICT],
            f"{types}/namespaces/team/virtualmachinepreferences": [],
            VMS: [WEB],
        }
        documents: dict[str, JsonObject] = {path: {"kind": "List", "items": found} for path, found in listed.items()}
        documents[f"/apis/{GROUP}"] = {"versions": [{"version": "v1beta2"}]}
        documents[f"{VMS}/web"] = WEB
        client = RestClient(cast("Any", FakeServer(documents)))
        session = Session(Access("https://there"), "team", cast("Any", None), client)
        monkeypatch.setattr("virtshape.cli.fit.run_session", lambda _, work: asyncio.run(work(session)))
        return call_virtctl("fit", *arguments)

    return call


def read_rows(outcome: CommandResult) -> list[list[str]]:
    assert outcome.status == 0, outcome.err
    return [[cell.strip() for cell in line.split("   ") if cell.strip()] for line in outcome.out.splitlines()]


def test_fit_shows_each_schedulable_node_and_what_blocks_the_next_vm(fit: Any) -> None:
    nodes = [build_node("a"), build_node("b", memory="5Gi"), build_node("c", {})]
    assert read_rows(fit("small", nodes=nodes, vmis=[build_instance("x", "3Gi", "a")])) == [
        ["NODE", "FITS", "NEXT ONE BLOCKED BY"],
        ["a", "2", "has 1Gi of memory left, 2Gi needed"],
        ["b", "2", "has 1Gi of memory left, 2Gi needed"],
        ["TOTAL", "4"],
    ]


def test_fit_without_a_name_lists_all_instancetypes_with_a_size(fit: Any) -> None:
    assert read_rows(fit()) == [
        ["NAME", "VCPU", "MEMORY", "FITS", "KIND", "NEXT ONE BLOCKED BY"],
        ["small", "1", "2Gi", "4", CLUSTER, "a has 0 of memory left, 2Gi needed"],
        ["pinned", "2", "1Gi", "0", CLUSTER, "a does not offer dedicated CPUs (no label cpumanager=true)"],
    ]


def test_fit_prints_the_reasons_of_three_nodes_and_counts_the_others(fit: Any) -> None:
    rows = read_rows(fit(nodes=[build_node(name) for name in "abcde"]))
    assert rows[1][3] == "20"
    assert rows[1][5].endswith("; c has 0 of memory left, 2Gi needed; 2 more nodes")


def test_fit_on_a_cluster_counts_pods_and_the_overhead_of_guests(fit: Any) -> None:
    ample = {"pods": "110", "ephemeral-storage": "10Gi", "devices.kubevirt.io/kvm": "1k"}
    nodes = [build_node("a", {"kubernetes.io/arch": "amd64"}, **ample)]
    assert read_rows(fit("small", nodes=nodes, pods=[build_pod("x", "3Gi", "a")]))[1:] == [
        ["a", "2", "has 480Mi of memory left, 2320Mi needed"]
    ]


def test_fit_counts_copies_of_an_existing_vm(fit: Any) -> None:
    assert fit("--vm", "web", "-o", "json").tree == {
        "kind": "VirtualMachine",
        "name": "web",
        "vcpus": 1,
        "memory": "3Gi",
        "fits": 2,
        "nodes": [{"node": "a", "fits": 2, "blockedBy": ["has 2Gi of memory left, 3Gi needed"]}],
    }


def test_fit_lists_instancetypes_in_yaml(fit: Any) -> None:
    assert [each["name"] for each in yaml.safe_load(fit("-o", "yaml").out)] == ["small", "pinned"]


def test_fit_considers_only_the_given_node(fit: Any) -> None:
    nodes = [build_node("a"), build_node("b")]
    assert [row[0] for row in read_rows(fit("small", "--node", "b", nodes=nodes))] == ["NODE", "b"]


def test_fit_with_a_preference_excludes_instancetypes_that_do_not_meet_it(fit: Any) -> None:
    assert [row[0] for row in read_rows(fit("--preference", "strict"))] == ["NAME", "pinned"]
    refused = fit("small", "--preference", "strict")
    assert refused.err.splitlines() == [
        "error: small cannot be used with this preference",
        "  - insufficient CPU resources of 1 vCPU provided by instance type, preference requires 2 vCPU",
    ]


def test_fit_fails_if_fewer_vms_fit_than_required(fit: Any) -> None:
    assert fit("small", "--at-least", "4").status == 0
    outcome = fit("small", "--at-least", "5")
    assert (outcome.status, outcome.err) == (1, "")
    assert outcome.out.startswith("NODE")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["open"], "open leaves its size to the VM"),
        (["smal"], 'there is no VirtualMachineClusterInstancetype "smal"; did you mean small?'),
        (["vmf/small"], 'there is no VirtualMachineInstancetype "small"; the server has a '),
        (["small", "--node", "node2"], 'node "node2" not found; did you mean "node1"?'),
        (["--vm", "wep"], 'VM "wep" not found in namespace team; did you mean "web"?'),
    ],
)
def test_fit_refuses_unknown_objects_and_instancetypes_without_a_size(
    fit: Any, arguments: list[str], message: str
) -> None:
    outcome = fit(*arguments, nodes=[build_node("node1")])
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {message}")


def test_fit_reports_that_no_node_runs_instances(fit: Any) -> None:
    assert fit(nodes=[]).err.splitlines() == [
        "error: no node runs instances: no launcher is running",
        "Check the nodes: kubectl get nodes",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["small", "--vm", "web"], "NAME and --vm are mutually exclusive"),
        (["--vm", "web", "--preference", "strict"], "--preference and --vm are mutually exclusive"),
        (["--at-least", "1"], "--at-least requires NAME or --vm"),
        (["vmp/small"], "NAME: VirtualMachinePreference is not an instance type"),
        (["x/small"], 'NAME: unknown kind "x"'),
    ],
)
def test_invalid_fit_command_line_is_rejected(arguments: list[str], message: str) -> None:
    outcome = call_virtctl("fit", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {message}")


def test_fit_completes_catalog_instancetypes_but_no_nodes_without_a_server() -> None:
    ctx = click.Context(command)
    assert [item.value for item in complete_instancetype(ctx, command.params[0], "u1.med")] == ["u1.medium"]
    assert complete_node(ctx, command.params[0], "") == []
