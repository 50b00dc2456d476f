"""The `virtctl diff` command with the catalog, with files, and with a server."""

import asyncio
import json
from pathlib import Path
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
CLUSTER = "VirtualMachineClusterInstancetype"
SIZES = f"/apis/{GROUP}/v1beta1/virtualmachineclusterinstancetypes"
VMS = "/apis/kubevirt.io/v1/namespaces/team/virtualmachines"
REVISIONS = "/apis/apps/v1/namespaces/team/controllerrevisions"
MISSING = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"}


def build_size(name: str, vcpus: int, memory: str = "2Gi", kind: str = CLUSTER) -> JsonObject:
    spec = {"cpu": {"guest": vcpus}, "memory": {"guest": memory}}
    return {"apiVersion": f"{GROUP}/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def build_vm(name: str = "web", **spec: Any) -> JsonObject:
    template: JsonObject = {"spec": {"domain": {"devices": {}}}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"runStrategy": "Halted", "instancetype": {"name": "small"}, "template": template, **spec},
    }


def build_revision(name: str, data: JsonObject) -> JsonObject:
    metadata = {"name": name, "namespace": "team", "labels": {f"{GROUP}/object-kind": CLUSTER}}
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "data": data, "revision": 0}


class FakeServer:
    """A server with a VM, two instance types and two revisions."""

    def __init__(self) -> None:
        revisions = [
            build_revision("r1", build_size("small", 1)),
            build_revision("r2", build_size("small", 2, "2048Mi")),
            build_revision("start", {"spec": {}}) | {"metadata": {"name": "start", "namespace": "team"}},
        ]
        self._documents: dict[str, JsonObject] = {
            f"/apis/{GROUP}": {"versions": [{"version": "v1beta1"}]},
            f"{SIZES}/small": build_size("small", 2),
            f"{SIZES}/large": build_size("large", 4),
            f"{VMS}/web": build_vm(instancetype={"name": "small", "revisionName": "r1"}),
            **{f"{REVISIONS}/{one['metadata']['name']}": one for one in revisions},
        }

    async def call(self, call: Call) -> Reply:
        assert call.method == "GET"
        found = self._documents.get(call.target, MISSING)
        return Reply(found["code"] if found.get("kind") == "Status" else 200, {}, json.dumps(found).encode())


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs the command against a server."""

    def call(*arguments: str) -> CommandResult:
        session = Session(Access("https://there"), "team", cast("Any", None), RestClient(cast("Any", FakeServer())))
        monkeypatch.setattr("virtshape.cli.diff.run_session", lambda _, work, **__: asyncio.run(work(session)))
        return call_virtctl("diff", *arguments)

    return call


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return the path of a file with a VM, instance types and revisions."""
    objects = [
        build_vm(),
        build_size("small", 2),
        build_size("large", 4, "2048Mi"),
        build_size("own", 2, kind="VirtualMachineInstancetype"),
        build_revision("r1", build_size("small", 1)),
    ]
    path = tmp_path / "objects.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return path


def test_diff_compares_objects_of_the_catalog_without_a_server() -> None:
    outcome = call_virtctl("diff", "u1.medium", "u1.large")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "FIELD               u1.medium   u1.large",
        "spec.cpu.guest      1           2",
        "spec.memory.guest   4Gi         8Gi",
    ]


def test_diff_ignores_the_notation_of_equal_quantities(files: Path) -> None:
    outcome = call_virtctl("diff", "-f", str(files), "small", "large", "-o", "json", "--exit-code")
    assert outcome.status == 1
    assert json.loads(outcome.out) == {
        "from": {"kind": CLUSTER, "name": "small"},
        "to": {"kind": CLUSTER, "name": "large"},
        "changes": [{"field": "spec.cpu.guest", "then": 2, "now": 4}],
    }
    assert call_virtctl("diff", "u1.nano", "u1.nano", "--exit-code") == (0, "", "no differences\n")


def test_diff_argument_without_a_kind_uses_the_kind_of_the_other_argument(files: Path) -> None:
    outcome = call_virtctl("diff", "-f", str(files), "vminstancetype/own", "small")
    assert outcome == (0, "", "no differences\n")


def test_diff_compares_objects_of_the_server(ask: Any) -> None:
    assert ask("small", "large").out.splitlines()[1:] == ["spec.cpu.guest   2       4"]


def test_diff_compares_revisions_of_the_server(ask: Any) -> None:
    assert ask("--revision", "r1", "r2").out == "FIELD            r1   r2\nspec.cpu.guest   1    2\n"


def test_revision_without_an_instancetype_cannot_be_compared(ask: Any) -> None:
    outcome = ask("--revision", "r1", "start")
    assert (outcome.status, outcome.err) == (
        1,
        "error: ControllerRevision start has no instance type or preference\n",
    )


def test_revision_that_is_not_in_the_files_is_reported(files: Path) -> None:
    outcome = call_virtctl("diff", "-f", str(files), "--revision", "r1", "r2")
    assert (outcome.status, outcome.err) == (1, "error: no ControllerRevision r2 in the files\n")


def test_effect_on_a_vm_is_compared_with_its_stored_revision(ask: Any) -> None:
    outcome = ask("--vm", "vm/web", "--to", "large")
    assert [line.split() for line in outcome.out.splitlines()] == [
        ["PART", "FIELD", "FROM", "TO"],
        ["VM", "spec.instancetype.name", "small", "large"],
        ["instance", "type", "spec.cpu.guest", "1", "4"],
        ["instance", "metadata.annotations[kubevirt.io/cluster-instancetype-name]", "small", "large"],
        ["instance", "spec.domain.cpu.sockets", "1", "4"],
    ]
    assert (outcome.status, outcome.err) == (0, "the instance changes at start\n")


def test_effect_on_a_vm_in_a_file_needs_no_server(files: Path) -> None:
    outcome = call_virtctl("diff", "-f", str(files), "--vm", "web", "--to", "u1.large", "-o", "yaml")
    found = yaml.safe_load(outcome.out)
    assert (found["vm"], found["from"]["name"], found["to"]["name"]) == ("web", "small", "u1.large")
    assert {"field": "spec.domain.memory.guest", "then": "2Gi", "now": "8Gi"} in found["changes"]
    assert found["problems"] == []


def test_vm_that_cannot_use_the_object_is_reported_with_the_reasons(files: Path) -> None:
    outcome = call_virtctl("diff", "-f", str(files), "--vm", "web", "--to", "windows.11")
    assert outcome.status == 1
    assert outcome.err.splitlines()[0] == "error: VM web cannot use windows.11"
    assert "preference requires 4Gi" in outcome.err


def test_vm_that_is_not_in_the_files_is_reported(files: Path) -> None:
    outcome = call_virtctl("diff", "-f", str(files), "--vm", "wep", "--to", "u1.large")
    assert (outcome.status, outcome.err) == (1, 'error: no VMs "wep" in the files, which contain: web\n')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "error: nothing to compare: specify two names, or --vm and --to"),
        (("u1.nano",), "error: nothing to compare: specify two names, or --vm and --to"),
        (("--vm", "web"), "error: --vm and --to must be used together"),
        (("u1.nano", "--vm", "web", "--to", "u1.large"), "error: --vm cannot be used with names to compare"),
        (("u1.nano", "fedora"), f"error: u1.nano is a {CLUSTER} and fedora a VirtualMachineClusterPreference"),
    ],
    ids=["nothing", "one name", "no --to", "names and --vm", "different types"],
)
def test_arguments_that_cannot_be_compared_are_rejected(arguments: tuple[str, ...], message: str) -> None:
    outcome = call_virtctl("diff", *arguments)
    assert outcome.status == 2
    assert outcome.err.startswith(message)
