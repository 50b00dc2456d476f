"""The `virtctl migrate-type` command: output, patches, and VMs that cannot move."""

import asyncio
import json
import re
from typing import Any, cast

import pytest
from tests.support.commands import CommandResult, call_virtctl

from virtshape.api.model import JsonObject
from virtshape.cli.connection import Session
from virtshape.client.access import Access
from virtshape.client.rest import RestClient
from virtshape.client.transport import Call, Reply

GROUP = "instancetype.kubevirt.io"
CLUSTER = "VirtualMachineClusterInstancetype"
VMS = "/apis/kubevirt.io/v1/namespaces/team/virtualmachines"
SIZES = f"/apis/{GROUP}/v1beta1/virtualmachineclusterinstancetypes"
OWN = f"/apis/{GROUP}/v1beta1/namespaces/team"
NAMESPACED = ("VirtualMachineInstancetype", "VirtualMachinePreference")
TASTES = f"/apis/{GROUP}/v1beta1/virtualmachineclusterpreferences"
SELECTOR = "?labelSelector=instancetype.kubevirt.io%2Fobject-name"
MISSING = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}
REFUSAL = {"kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid", "message": "no quota"}
MOVED: JsonObject = {"spec": {"instancetype": {"kind": CLUSTER, "name": "large", "revisionName": None}}}


def build_object(kind: str, name: str, spec: JsonObject, **metadata: Any) -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1beta1", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def build_list(kind: str, items: list[JsonObject]) -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1beta1", "kind": f"{kind}List", "items": items}


def build_size(name: str, vcpus: int, **metadata: Any) -> JsonObject:
    return build_object(CLUSTER, name, {"cpu": {"guest": vcpus}, "memory": {"guest": "2Gi"}}, **metadata)


def build_vm(name: str, size: str, **template: Any) -> JsonObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": {"name": size},
            "template": {"spec": {"domain": {"devices": {}}, **template}},
        },
    }


class FakeServer:
    """A server with VMs of two instance types; the larger one sets a node selector, as does the VM `bound`."""

    def __init__(self, *, refuses: str = "", has_old: bool = True, **large: Any) -> None:
        vms = [
            build_vm("web", "small"),
            build_vm("bound", "small", nodeSelector={"zone": "a"}),
            build_vm("big", "large"),
        ]
        sizes = [build_size("large", 4, **large), *([build_size("small", 2)] if has_old else [])]
        sizes[0]["spec"]["nodeSelector"] = {"disk": "fast"}
        taste = build_object("VirtualMachineClusterPreference", "linux", {})
        self.patches: list[tuple[str, JsonObject]] = []
        self._refuses = refuses
        self.documents: dict[str, JsonObject] = {
            f"/apis/{GROUP}": {"versions": [{"version": "v1beta1"}]},
            VMS: {"items": vms},
            **{f"{VMS}/{vm['metadata']['name']}": vm for vm in vms},
            "/apis/apps/v1/namespaces/team/controllerrevisions" + SELECTOR: {"items": []},
            "/apis/kubevirt.io/v1/namespaces/team/virtualmachineinstances": {"items": []},
            SIZES: build_list(CLUSTER, sizes),
            **{f"{SIZES}/{size['metadata']['name']}": size for size in sizes},
            f"{TASTES}/linux": taste,
            TASTES: build_list(taste["kind"], [taste]),
            **{f"{OWN}/{kind.lower()}s": build_list(kind, []) for kind in NAMESPACED},
        }

    async def call(self, call: Call) -> Reply:
        found = self._patch(call) if call.method == "PATCH" else self.documents.get(call.target, MISSING)
        return Reply(found["code"] if found.get("kind") == "Status" else 200, {}, json.dumps(found).encode())

    def _patch(self, call: Call) -> JsonObject:
        path = call.target.removeprefix(f"{VMS}/")
        if path.partition("?")[0] == self._refuses:
            return REFUSAL
        self.patches.append((path, json.loads(call.body)))
        return self.documents[f"{VMS}/{path.partition('?')[0]}"]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs the command against a server."""

    def call(server: FakeServer, *arguments: str) -> CommandResult:
        session = Session(Access("https://there"), "team", cast("Any", None), RestClient(cast("Any", server)))
        monkeypatch.setattr("virtshape.cli.migratetype.run_session", lambda _, work: asyncio.run(work(session)))
        return call_virtctl("migrate-type", *arguments)

    return call


def test_movable_vms_are_moved_and_the_others_are_listed_with_reasons(ask: Any) -> None:
    server = FakeServer()
    outcome = ask(server, "small", "large")
    assert [re.split(" {3,}", line) for line in outcome.out.splitlines()] == [
        ["NAMESPACE", "VM", "APPLIES", "FIELD"],
        ["team", "web", "at start", "metadata.annotations[kubevirt.io/cluster-instancetype-name]: small -> large"],
        ["team", "web", "at start", "spec.domain.cpu.sockets: 2 -> 4"],
        ["team", "web", "at start", 'spec.nodeSelector: <none> -> {"disk": "fast"}'],
    ]
    assert outcome.status == 1
    assert outcome.err.splitlines() == [
        "1 VM moved",
        "error: 1 VM cannot move",
        "  - team/bound: VM field(s) spec.template.spec.nodeSelector conflicts with selected instance type",
    ]
    assert server.patches == [("web", MOVED)]


def test_dry_run_of_a_move_is_validated_by_the_server(ask: Any) -> None:
    server = FakeServer()
    outcome = ask(server, "small", "large", "web", "--dry-run")
    assert (outcome.status, outcome.err) == (0, "1 VM would be moved; run without --dry-run to apply\n")
    assert server.patches == [("web?dryRun=All", MOVED)]


def test_rejection_by_the_server_is_reported_as_the_reason(ask: Any) -> None:
    outcome = ask(FakeServer(refuses="web"), "small", "large", "vm/web")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.splitlines() == ["error: 1 VM cannot move", "  - team/web: no quota"]


def test_migrate_type_json_output_includes_vms_that_cannot_move(ask: Any) -> None:
    outcome = ask(FakeServer(), "small", "large", "--dry-run", "-o", "json")
    moved, stuck = json.loads(outcome.out)
    assert (moved["vm"], moved["problems"], moved["from"]["name"], moved["to"]["name"]) == ("web", [], "small", "large")
    assert {"field": "spec.cpu.guest", "then": 2, "now": 4} in moved["fields"]
    assert (stuck["vm"], stuck["changes"]) == ("bound", None)
    assert stuck["problems"] != []


def test_vms_of_a_deleted_instancetype_can_be_moved(ask: Any) -> None:
    server = FakeServer(has_old=False)
    outcome = ask(server, "small", "large", "web")
    assert outcome.out.splitlines()[1].endswith("unknown, since the stored revision was deleted")
    assert server.patches == [("web", MOVED)]


def test_vms_of_a_flavor_are_moved_to_an_instancetype(ask: Any) -> None:
    server = FakeServer()
    flavored = build_vm("flavored", "")
    del flavored["spec"]["instancetype"]
    flavored["spec"]["flavor"] = {"name": "tiny"}
    flavor = {"kind": "VirtualMachineClusterFlavor", "spec": {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}}}
    server.documents[VMS]["items"].append(flavored)
    server.documents[f"{VMS}/flavored"] = flavored
    server.documents["/apis/flavor.kubevirt.io/v1alpha1/virtualmachineclusterflavors/tiny"] = {
        "apiVersion": "flavor.kubevirt.io/v1alpha1",
        "metadata": {"name": "tiny"},
        **flavor,
    }
    outcome = ask(server, "VirtualMachineClusterFlavor/tiny", "large")
    assert outcome.status == 0, outcome.err
    assert server.patches == [("flavored", {"spec": {**MOVED["spec"], "flavor": None}})]


def test_move_to_a_retired_instancetype_is_rejected(ask: Any) -> None:
    server = FakeServer(labels={"virtshape.io/lifecycle": "retired"})
    outcome = ask(server, "small", "large", "web")
    assert outcome.status == 1
    assert outcome.err.splitlines()[1] == (f'  - team/web: {CLUSTER} "large" is retired: new VMs cannot use it')
    assert server.patches == []


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("small", "large", "big"), 1, "error: 1 VM cannot move"),
        (("large", "small", "-A", "web"), 2, "error: VM names require one namespace: use -n instead of -A"),
        (("small", "small"), 2, f"error: OLD and NEW are both {CLUSTER} small"),
        (("vmclusterinstancetype/small", "linux"), 1, 'error: there is no VirtualMachineClusterInstancetype "linux"'),
        (
            ("vmclusterinstancetype/small", "vmcp/linux"),
            2,
            f"error: OLD is a {CLUSTER} and NEW is a VirtualMachineClusterPreference",
        ),
        (("small", "virtualmachineflavor/tiny"), 2, "error: NEW is a flavor: VMs move from flavors to instance types"),
        (("virtualmachineflavor/tiny", "large"), 1, 'error: virtualmachineflavors.flavor.kubevirt.io "tiny" not found'),
        (("smal", "large"), 1, f'error: there is no {CLUSTER} "smal"; did you mean small?'),
    ],
    ids=[
        "VM of another instance type",
        "names and -A",
        "same",
        "wrong type",
        "different types",
        "to a flavor",
        "no flavor",
        "misspelt",
    ],
)
def test_invalid_migrate_type_arguments_are_rejected(
    ask: Any, arguments: tuple[str, ...], status: int, message: str
) -> None:
    server = FakeServer()
    outcome = ask(server, *arguments)
    assert outcome.status == status
    assert outcome.err.splitlines()[0].startswith(message)
    assert server.patches == []
