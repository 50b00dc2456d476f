"""Warnings of `virtctl create vm` about deprecated and retired objects of the server."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.support.commands import call_virtctl

from virtshape.api.model import JsonObject
from virtshape.cli.connection import Session
from virtshape.cli.localserver import NoServerError
from virtshape.client.access import Access
from virtshape.client.rest import RestClient
from virtshape.client.transport import Call, Reply

GROUP = "instancetype.kubevirt.io"
SIZES = f"/apis/{GROUP}/v1beta1/namespaces/team/virtualmachineinstancetypes"
TASTES = f"/apis/{GROUP}/v1beta1/virtualmachineclusterpreferences"
OLD = {"labels": {"virtshape.io/lifecycle": "retired"}, "annotations": {"virtshape.io/replacement": "new"}}


def build(kind: str, name: str, spec: JsonObject, **metadata: Any) -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1beta1", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


class FakeServer:
    """A server with a retired instance type and a deprecated preference."""

    documents: JsonObject = {  # noqa: RUF012 - never modified
        f"/apis/{GROUP}": {"versions": [{"version": "v1beta1"}]},
        f"{SIZES}/old": build(
            "VirtualMachineInstancetype", "old", {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}, **OLD
        ),
        f"{TASTES}/linux": build(
            "VirtualMachineClusterPreference", "linux", {}, labels={f"{GROUP}/deprecated": "true"}
        ),
    }

    async def call(self, call: Call) -> Reply:
        found = self.documents.get(call.target, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "no"})
        return Reply(found.get("code", 200), {}, json.dumps(found).encode())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Simulate a terminal as standard output and connect to the fake server; return the monkeypatch fixture."""
    stdout = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr("virtshape.cli.create.vm.sys", SimpleNamespace(stdout=stdout))
    session = Session(Access("https://there"), "team", cast("Any", None), RestClient(cast("Any", FakeServer())))
    monkeypatch.setattr("virtshape.cli.create.lifecycle.run_session", lambda _, work, **__: asyncio.run(work(session)))
    return monkeypatch


@pytest.mark.usefixtures("terminal")
def test_deprecated_and_retired_objects_cause_warnings() -> None:
    outcome = call_virtctl("create", "vm", "--instancetype", "virtualmachineinstancetype/old", "--preference", "linux")
    assert outcome.status == 0
    assert outcome.err.splitlines() == [
        'warning: VirtualMachineInstancetype "old" is retired: new VMs cannot use it; use new instead',
        'warning: VirtualMachineClusterPreference "linux" is deprecated',
    ]


@pytest.mark.usefixtures("terminal")
def test_object_that_the_server_does_not_have_causes_no_warning() -> None:
    assert call_virtctl("create", "vm", "--instancetype", "u1.small").err == ""


def test_created_vm_is_printed_without_a_server(terminal: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise NoServerError("no server is configured")

    terminal.setattr("virtshape.cli.create.lifecycle.run_session", fail)
    outcome = call_virtctl("create", "vm", "--instancetype", "old")
    assert (outcome.status, outcome.err) == (0, "")


def test_server_is_not_queried_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr("virtshape.cli.create.lifecycle.run_session", lambda *given, **_: asked.append(given))
    assert call_virtctl("create", "vm", "--instancetype", "old").status == 0
    assert asked == []
