"""`virtctl drift` with a read-only server that has KubeVirt's API versions."""

import asyncio
import json
from typing import Any, cast

import pytest
import yaml
from tests.support.commands import CommandResult, call_virtctl

from virtshape.api.model import JsonObject
from virtshape.cli.connection import Session
from virtshape.client.access import Access
from virtshape.client.rest import RestClient
from virtshape.client.transport import Call, Reply

GROUP = "instancetype.kubevirt.io"
SIZE = "VirtualMachineClusterInstancetype"
TASTE = "VirtualMachinePreference"
FORBIDDEN = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not for you"}
MISSING = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}
SELECTOR = "?labelSelector=instancetype.kubevirt.io%2Fobject-name"


class FakeServer:
    """A server that returns the documents of a stock KubeVirt by path."""

    def __init__(self, documents: dict[str, JsonObject]) -> None:
        served = {"versions": [{"version": "v1beta1"}, {"version": "v1alpha2"}]}
        self._documents = {f"/apis/{GROUP}": served, **documents}
        self.requested: list[str] = []

    async def call(self, call: Call) -> Reply:
        assert call.method == "GET"
        self.requested.append(call.target)
        found = self._documents.get(call.target, MISSING)
        return Reply(found["code"] if found.get("kind") == "Status" else 200, {}, json.dumps(found).encode())


def build(kind: str, name: str, spec: JsonObject, namespace: str | None = None) -> JsonObject:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{GROUP}/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}


def build_size(vcpus: int) -> JsonObject:
    return build(SIZE, "small", {"cpu": {"guest": vcpus}, "memory": {"guest": "2Gi"}})


def build_vm(name: str, **matchers: JsonObject) -> JsonObject:
    template: JsonObject = {"spec": {"domain": {"devices": {}}}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"runStrategy": "Halted", "template": template, **matchers},
    }


def build_revision(name: str, payload: JsonObject) -> JsonObject:
    labels = {f"{GROUP}/object-name": payload["metadata"]["name"]}
    metadata = {"name": name, "namespace": "team", "labels": labels}
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "data": payload, "revision": 0}


WEB = build_vm(
    "web",
    instancetype={"name": "small", "revisionName": "web-small"},
    preference={"name": "linux", "kind": TASTE, "revisionName": "web-linux"},
)
PLAIN = build_vm("plain")
LOST = build_vm("lost", instancetype={"name": "small", "revisionName": "no-more"})
REVISIONS = [
    build_revision("web-small", build_size(2)),
    build_revision("web-linux", build(TASTE, "linux", {}, "team")),
]
VMS = "/apis/kubevirt.io/v1/namespaces/team/virtualmachines"
KEPT = "/apis/apps/v1/namespaces/team/controllerrevisions"
SIZES = f"/apis/{GROUP}/v1beta1/virtualmachineclusterinstancetypes"
TASTES = f"/apis/{GROUP}/v1beta1/namespaces/team/virtualmachinepreferences"


def build_documents(vcpus: int = 2, *others: JsonObject) -> dict[str, JsonObject]:
    vms = [WEB, PLAIN, *others]
    return {
        VMS: {"items": vms},
        "/apis/kubevirt.io/v1/virtualmachines": {"items": vms},
        **{f"{VMS}/{vm['metadata']['name']}": vm for vm in vms},
        KEPT + SELECTOR: {"items": REVISIONS},
        "/apis/apps/v1/controllerrevisions" + SELECTOR: {"items": REVISIONS},
        **{f"{KEPT}/{each['metadata']['name']}": each for each in REVISIONS},
        f"{SIZES}/small": build_size(vcpus),
        f"{TASTES}/linux": build(TASTE, "linux", {}, "team"),
    }


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs the command against a server with the given documents."""

    def call(documents: dict[str, JsonObject], *arguments: str) -> tuple[CommandResult, list[str]]:
        server = FakeServer(documents)
        client = RestClient(cast("Any", server))
        session = Session(Access("https://there"), "team", cast("Any", None), client)
        monkeypatch.setattr("virtshape.cli.drift.run_session", lambda _, work: asyncio.run(work(session)))
        return call_virtctl("drift", *arguments), server.requested

    return call


def test_drift_compares_the_revisions_of_all_vms(stock: Any) -> None:
    outcome, requested = stock(build_documents(4))
    assert outcome.err == ""
    assert [line.split() for line in outcome.out.splitlines()] == [
        ["NAMESPACE", "VM", "ROLE", "OBJECT", "REVISION", "STATE"],
        ["team", "web", "instancetype", "virtualmachineclusterinstancetype/small", "web-small", "changed"],
        ["team", "web", "preference", "virtualmachinepreference/linux", "web-linux", "same"],
    ]
    assert requested == [VMS, KEPT + SELECTOR, f"/apis/{GROUP}", f"{SIZES}/small", f"{TASTES}/linux"]


def test_drift_with_fields_shows_changed_fields(stock: Any) -> None:
    outcome, _ = stock(build_documents(4), "web", "--fields")
    rows = [line.rsplit("   ", 1) for line in outcome.out.splitlines()]
    assert [row[-1] for row in rows] == ["FIELD", "spec.cpu.guest: 2 -> 4", "same"]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_drift_output_in_json_and_yaml_always_lists_changed_fields(stock: Any, form: str) -> None:
    outcome, _ = stock(build_documents(4), "-A", "-o", form)
    assert yaml.safe_load(outcome.out)[0] == {
        "namespace": "team",
        "vm": "web",
        "role": "instancetype",
        "kind": SIZE,
        "object": "small",
        "revision": "web-small",
        "state": "changed",
        "changes": [{"field": "spec.cpu.guest", "then": 2, "now": 4}],
    }


@pytest.mark.parametrize(
    ("vcpus", "arguments", "status"),
    [(4, [], 0), (4, ["--exit-code"], 1), (2, ["--exit-code"], 0), (4, ["--exit-code=false"], 0)],
    ids=["without the flag", "changed", "same", "flag set to false"],
)
def test_drift_with_exit_code_reports_drift_in_the_exit_status(
    stock: Any, vcpus: int, arguments: list[str], status: int
) -> None:
    outcome, _ = stock(build_documents(vcpus), *arguments)
    assert (outcome.status, outcome.err) == (status, "")


def test_drift_reports_a_deleted_instancetype(stock: Any) -> None:
    documents = build_documents()
    del documents[f"{SIZES}/small"]
    outcome, _ = stock(documents, "vm/web", "--exit-code")
    assert outcome.status == 1
    assert outcome.out.splitlines()[1].endswith("   gone")


def test_revisions_are_read_one_by_one_if_list_is_forbidden(stock: Any) -> None:
    outcome, requested = stock({**build_documents(4), KEPT + SELECTOR: FORBIDDEN})
    assert "changed" in outcome.out
    assert f"{KEPT}/web-small" in requested


def test_deleted_revision_is_reported_as_missing(stock: Any) -> None:
    outcome, _ = stock(build_documents(2, LOST), "--exit-code")
    assert (outcome.status, outcome.err) == (1, "")
    assert [line.split()[1:] for line in outcome.out.splitlines() if "lost" in line] == [
        ["lost", "instancetype", "virtualmachineclusterinstancetype/small", "no-more", "missing"]
    ]


def test_drift_reports_errors_after_results(stock: Any) -> None:
    documents = build_documents(2, LOST)
    unreadable = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 0, "data": {}}
    documents[f"{KEPT}/no-more"] = {**unreadable, "metadata": {"name": "no-more", "namespace": "team"}}
    outcome, _ = stock(documents)
    assert outcome.status == 1
    assert len(outcome.out.splitlines()) == 3
    first, cause, last = outcome.err.splitlines()
    assert first == "error: 1 revision cannot be compared"
    assert cause.startswith("  - team/lost: instance type: ")
    assert last == ("Check the VMs and their revisions: kubectl get vm,controllerrevisions")


def test_drift_omits_vms_without_revisions(stock: Any) -> None:
    outcome, _ = stock(build_documents(), "plain")
    assert outcome == (0, "", "no VM has a stored instance type or preference\n")
    assert stock(build_documents(), "plain", "-o", "json")[0].out == "[]\n"


def test_missing_vm_is_reported_with_similar_names(stock: Any) -> None:
    outcome, _ = stock(build_documents(), "wep")
    assert outcome.status == 1
    assert outcome.err.startswith('error: VM "wep" not found in namespace team; did you mean "web"?')


def test_vm_name_with_all_namespaces_is_rejected() -> None:
    outcome = call_virtctl("drift", "web", "-A")
    assert (outcome.status, outcome.err.splitlines()[0]) == (
        2,
        "error: VM names require one namespace: use -n instead of -A",
    )
