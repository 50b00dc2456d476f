import json
import os
import resource
import stat
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from virtshape.api.codec import encode
from virtshape.api.kinds import find_kind
from virtshape.api.status import StatusError
from virtshape.apiserver.audit import CLIENT_LEFT, AuditEntry, AuditLog, Caller, build_audit_entry, shorten
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.route import Route, Verb


def build_entry(name: str = "vm1", **rest: Any) -> AuditEntry:
    return AuditEntry(
        time=datetime.fromtimestamp(1_800_000_000.25, UTC),
        user="bob",
        verb="create",
        group="kubevirt.io",
        resource="virtualmachines",
        namespace="prod",
        name=name,
        code=201,
        latency_ms=1.5,
        **rest,
    )


def read_names(path: Path) -> list[str]:
    return [json.loads(line)["name"] for line in path.read_text().splitlines()]


def test_audit_entry_is_one_json_line(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "audit.log"
    with AuditLog(path) as log:
        log.record(build_entry(groups=("dev",), source_ip="192.0.2.1", user_agent='kubectl/"1"\nx'))
    (line,) = path.read_text().splitlines()
    assert json.loads(line) == {
        "time": "2027-01-15T08:00:00.250000Z",
        "user": "bob",
        "groups": ["dev"],
        "verb": "create",
        "group": "kubevirt.io",
        "resource": "virtualmachines",
        "namespace": "prod",
        "name": "vm1",
        "code": 201,
        "latencyMs": 1.5,
        "sourceIp": "192.0.2.1",
        "userAgent": 'kubectl/"1"\nx',
    }


def test_audit_logs_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.touch(mode=0o644)
    with AuditLog(path, largest=1) as log:
        log.record(build_entry("a"))
        log.record(build_entry("b"))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {"audit.log": 0o600, "audit.log.1": 0o600}


def test_new_audit_entries_are_appended_to_an_existing_log(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with AuditLog(tmp_path / "audit.log") as log:
            log.record(build_entry(name))
    assert read_names(tmp_path / "audit.log") == ["a", "b"]


def test_large_audit_log_is_rotated_and_the_oldest_file_removed(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    with AuditLog(path, largest=2 * 200, kept=2) as log:
        for name in "abcdefg":
            log.record(build_entry(name))
    assert {file.name: read_names(file) for file in tmp_path.iterdir()} == {
        "audit.log": ["g"],
        "audit.log.1": ["e", "f"],
        "audit.log.2": ["c", "d"],
    }


def test_audit_write_failure_is_logged_once_and_not_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> int:
        raise OSError("no space left")

    with AuditLog(tmp_path / "audit.log") as log:
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", fail)
            log.record(build_entry("a"))
            log.record(build_entry("b"))
        log.record(build_entry("c"))
    assert read_names(tmp_path / "audit.log") == ["c"]
    assert [record.message.partition(str(tmp_path))[0] for record in caplog.records] == [
        "audit log: cannot write ",
        "audit log: writing to ",
    ]
    assert "2 entries were lost" in caplog.text


@pytest.mark.parametrize(("text", "length"), [("x" * 512, 512), ("x" * 9999, 512), ("", 0)])
def test_long_text_of_a_client_is_truncated_in_the_audit_log(text: str, length: int) -> None:
    assert len(shorten(text)) == length


BOB = Caller(User("bob", ("dev",)))
CREATED = Response(201, b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"made-x7k2p"}}')
STORED_EVENT = Response(201, b'{"apiVersion":"v1","kind":"Event","metadata":{"name":"vm.1"},"reason":"Started"}')
REFUSED = Response(409, encode(StatusError(409, "AlreadyExists", "no").about("", "configmaps", "taken").status))


def describe_entry(
    response: Response | int = CREATED, *, caller: Caller = BOB, verb: Verb = "create", name: str = "", query: str = ""
) -> dict[str, Any]:
    kind = find_kind("v1", "ConfigMap")
    assert kind is not None
    headers = {"user-agent": "kubectl/v1", "audit-id": "r1"}
    request = Request("POST", f"/x?{query}", headers, peer="127.0.0.1")
    line = build_audit_entry(request, Route(verb, kind, "prod", name, ""), caller, response, time.time() - 0.5)
    tree: dict[str, Any] = msgspec.to_builtins(line)
    return tree


def test_audit_entry_contains_user_object_and_result() -> None:
    line = describe_entry(name="a", verb="patch", response=Response(200, b"{}"))
    assert line.pop("time").endswith("Z")
    assert 500 <= line.pop("latencyMs") < 5000
    assert line == {
        "auditId": "r1",
        "user": "bob",
        "groups": ("dev",),
        "verb": "patch",
        "resource": "configmaps",
        "namespace": "prod",
        "name": "a",
        "code": 200,
        "sourceIp": "127.0.0.1",
        "userAgent": "kubectl/v1",
    }


LINES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "generated name": ({}, {"name": "made-x7k2p", "code": 201}),
    "created event, whose reason is not that of a failure": (
        {"response": STORED_EVENT},
        {"name": "vm.1", "code": 201, "reason": None},
    ),
    "error response": ({"response": REFUSED}, {"name": "taken", "code": 409, "reason": "AlreadyExists"}),
    "client disconnected": ({"response": CLIENT_LEFT, "name": "a"}, {"name": "a", "code": 499}),
    "dry run": ({"query": "dryRun=All"}, {"dryRun": True}),
    "impersonation": (
        {"caller": Caller(BOB.user, "admin")},
        {"user": "bob", "impersonatedBy": "admin"},
    ),
    "compressed response": ({"response": Response(200, b"\x1f\x8b\x08")}, {"code": 200}),
    "YAML response": ({"response": Response(201, b"kind: X", "application/yaml")}, {"code": 201}),
    "long name": ({"name": "x" * 9000}, {"name": "x" * 511 + "…"}),
}


@pytest.mark.parametrize(("write", "facts"), LINES.values(), ids=LINES.keys())
def test_audit_entry_describes_the_request(write: dict[str, Any], facts: dict[str, Any]) -> None:
    line = describe_entry(**write)
    assert {key: line.get(key) for key in facts} == facts


def test_entry_for_which_the_disk_has_no_room_leaves_no_partial_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "audit.log"
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with AuditLog(path) as log:
        log.record(build_entry("first"))
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard)
        )  # writes end there, as on a full disk
        try:
            log.record(build_entry("lost"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        log.record(build_entry("second"))
    assert read_names(path) == ["first", "second"]
    assert "No space left on device; requests continue" in caplog.text
    assert "1 entries were lost" in caplog.text
