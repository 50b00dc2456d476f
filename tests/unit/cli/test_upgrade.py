"""The `virtctl upgrade` command: output, patches, and rejections by the server."""

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
VMS = "/apis/kubevirt.io/v1/namespaces/team/virtualmachines"
SIZES = f"/apis/{GROUP}/v1beta1/virtualmachineclusterinstancetypes"
REVISIONS = "/apis/apps/v1/namespaces/team/controllerrevisions"
SELECTOR = "?labelSelector=instancetype.kubevirt.io%2Fobject-name"
MISSING = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}
FAILURE = {
    "kind": "Status",
    "status": "Failure",
    "code": 422,
    "reason": "Invalid",
    "message": "that does not go with it",
}
SUBRESOURCES = "/apis/subresources.kubevirt.io/v1"
CLEARED: JsonObject = {"spec": {"instancetype": {"revisionName": None}}}
REQUESTED: JsonObject = {"metadata": {"annotations": {"virtshape.io/recapture": "instancetype"}}, **CLEARED}
STATUS_CLEARED: JsonObject = {"status": {"instancetypeRef": None}}


def build_size(vcpus: int) -> JsonObject:
    spec = {"cpu": {"guest": vcpus}, "memory": {"guest": "2Gi"}}
    kind = "VirtualMachineClusterInstancetype"
    return {"apiVersion": f"{GROUP}/v1beta1", "kind": kind, "metadata": {"name": "small"}, "spec": spec}


def build_vm(name: str, revision: str, **status: Any) -> JsonObject:
    matcher = {"name": "small", "revisionName": revision}
    ref = {"name": "small", "controllerRevisionRef": {"name": revision}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": matcher,
            "template": {"spec": {"domain": {"devices": {}}}},
        },
        "status": {"instancetypeRef": ref, **status},
    }


def build_revision(name: str, vcpus: int) -> JsonObject:
    metadata = {"name": name, "namespace": "team", "labels": {f"{GROUP}/object-name": "small"}}
    kept = build_size(vcpus)
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "data": kept, "revision": 0}


class FakeServer:
    """A server with three VMs of an instance type with 4 vCPUs; two, one of them running, have an older revision."""

    def __init__(
        self, *, resources: tuple[str, ...] = ("explain-vm-spec",), refuses: str = "", has_size: bool = True
    ) -> None:
        self.vms = {
            "web": build_vm("web", "older", created=True),
            "db": build_vm("db", "older"),
            "new": build_vm("new", "newer"),
        }
        self.patches: list[tuple[str, JsonObject]] = []
        self._refuses = refuses
        revisions = [build_revision("older", 2), build_revision("newer", 4)]
        self.documents: dict[str, JsonObject] = {
            f"/apis/{GROUP}": {"versions": [{"version": "v1beta1"}]},
            **({SUBRESOURCES: {"resources": [{"name": name} for name in resources]}} if resources else {}),
            VMS: {"items": list(self.vms.values())},
            "/apis/kubevirt.io/v1/virtualmachines": {"items": list(self.vms.values())},
            **{f"{VMS}/{name}": vm for name, vm in self.vms.items()},
            REVISIONS + SELECTOR: {"items": revisions},
            "/apis/apps/v1/controllerrevisions" + SELECTOR: {"items": revisions},
            **{f"{REVISIONS}/{one['metadata']['name']}": one for one in revisions},
            **({f"{SIZES}/small": build_size(4)} if has_size else {}),
        }

    async def call(self, call: Call) -> Reply:
        found = self._patch(call) if call.method == "PATCH" else self.documents.get(call.target, MISSING)
        return Reply(found["code"] if found.get("kind") == "Status" else 200, {}, json.dumps(found).encode())

    def _patch(self, call: Call) -> JsonObject:
        path = call.target.removeprefix(f"{VMS}/")
        name = path.partition("?")[0].removesuffix("/status")
        if name == self._refuses:
            return FAILURE
        self.patches.append((path, json.loads(call.body)))
        return self.vms[name]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs the command against a server."""

    def call(server: FakeServer, *arguments: str) -> CommandResult:
        session = Session(Access("https://there"), "team", cast("Any", None), RestClient(cast("Any", server)))
        monkeypatch.setattr("virtshape.cli.upgrade.run_session", lambda _, work: asyncio.run(work(session)))
        return call_virtctl("upgrade", *arguments)

    return call


def test_upgrade_of_all_outdated_vms_lists_their_changes(ask: Any) -> None:
    server = FakeServer()
    outcome = ask(server, "--all")
    size, grown = "virtualmachineclusterinstancetype/small", "spec.domain.cpu.sockets: 2 -> 4"
    assert [re.split(" {3,}", line) for line in outcome.out.splitlines()] == [
        ["NAMESPACE", "VM", "OBJECTS", "APPLIES", "FIELD"],
        ["team", "web", size, "at restart", grown],
        ["team", "db", size, "at start", grown],
    ]
    assert (outcome.status, outcome.err) == (0, "2 VMs upgraded\n")
    assert server.patches == [("web", REQUESTED), ("db", REQUESTED)]


def test_dry_run_of_upgrade_is_validated_by_the_server_and_changes_nothing(ask: Any) -> None:
    server = FakeServer()
    outcome = ask(server, "web", "--dry-run")
    assert outcome.out.splitlines()[1].endswith("spec.domain.cpu.sockets: 2 -> 4")
    assert outcome.err == "1 VM would be upgraded; run without --dry-run to apply\n"
    assert server.patches == [("web?dryRun=All", REQUESTED)]


@pytest.mark.parametrize("resources", [("version", "expand-vm-spec"), ()], ids=["KubeVirt", "no subresource API"])
def test_upgrade_clears_spec_and_status_in_kubevirt_without_an_annotation(ask: Any, resources: tuple[str, ...]) -> None:
    server = FakeServer(resources=resources)
    assert ask(server, "db").status == 0
    assert server.patches == [("db", CLEARED), ("db/status", STATUS_CLEARED)]


def test_upgrade_of_a_vm_with_a_revision_only_in_the_status_writes_no_status(ask: Any) -> None:
    server = FakeServer()
    del server.vms["db"]["spec"]["instancetype"]["revisionName"]
    assert ask(server, "db").err == "1 VM upgraded\n"
    assert server.patches == [("db", REQUESTED)]


def test_upgrade_in_json_has_all_details(ask: Any) -> None:
    outcome = ask(FakeServer(), "-A", "--dry-run", "-o", "json")
    assert outcome.err == ""
    assert json.loads(outcome.out)[0] == {
        "namespace": "team",
        "vm": "web",
        "running": True,
        "revisions": [
            {
                "role": "instancetype",
                "kind": "VirtualMachineClusterInstancetype",
                "object": "small",
                "revision": "older",
                "state": "changed",
            }
        ],
        "changes": [{"field": "spec.domain.cpu.sockets", "then": 2, "now": 4}],
    }


def test_upgrade_leaves_current_vms_unchanged(ask: Any) -> None:
    server = FakeServer()
    assert ask(server, "vm/new") == (0, "", "nothing to upgrade: all VMs are current\n")
    assert server.patches == []


def test_upgrade_continues_after_a_rejected_vm(ask: Any) -> None:
    server = FakeServer(refuses="web")
    outcome = ask(server, "--all")
    assert outcome.status == 1
    assert outcome.err.splitlines() == [
        "1 VM upgraded",
        "error: 1 VM cannot be upgraded",
        "  - team/web: that does not go with it",
        "Show the changes: virtctl drift --fields",
    ]
    assert server.patches == [("db", REQUESTED)]


def test_upgrade_prints_only_errors_if_all_vms_are_rejected(ask: Any) -> None:
    outcome = ask(FakeServer(refuses="db"), "db")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("error: 1 VM cannot be upgraded\n")


def test_upgrade_does_not_replace_the_revision_of_a_deleted_object(ask: Any) -> None:
    server = FakeServer(has_size=False)
    outcome = ask(server, "db")
    gone = "virtualmachineclusterinstancetype/small was deleted; its revision older is kept"
    assert outcome.status == 0
    assert outcome.err.splitlines()[0] == f"warning: team/db: {gone}"
    assert server.patches == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "error: no VM to upgrade: specify VM names, --all or -A"),
        (("web", "--all"), "error: VM names and --all are mutually exclusive"),
        (("web", "-A"), "error: VM names and -A are mutually exclusive"),
    ],
)
def test_upgrade_rejects_a_missing_or_ambiguous_selection_of_vms(arguments: tuple[str, ...], message: str) -> None:
    outcome = call_virtctl("upgrade", *arguments)
    assert (outcome.status, outcome.err.splitlines()[0]) == (2, message)


def test_missing_vm_is_reported_with_similar_names(ask: Any) -> None:
    outcome = ask(FakeServer(), "wep")
    assert outcome.status == 1
    assert outcome.err.startswith('error: VM "wep" not found in namespace team; did you mean "web"')


def test_upgrade_of_a_vm_clears_the_name_of_a_deleted_revision(ask: Any) -> None:
    server = FakeServer()
    server.vms["lost"] = server.documents[f"{VMS}/lost"] = build_vm("lost", "deleted")
    outcome = ask(server, "lost")
    assert (outcome.status, outcome.err) == (0, "1 VM upgraded\n")
    assert outcome.out.splitlines()[1].endswith("at start   unknown, since the stored revision was deleted")
    assert server.patches == [("lost", REQUESTED)]
