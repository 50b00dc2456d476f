import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from virtshape.apiserver.audit import AuditEntry, AuditLog, shorten


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


def test_a_write_is_one_line(tmp_path: Path) -> None:
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


def test_the_log_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.touch(mode=0o644)
    with AuditLog(path, largest=1) as log:
        log.record(build_entry("a"))
        log.record(build_entry("b"))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {"audit.log": 0o600, "audit.log.1": 0o600}


def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with AuditLog(tmp_path / "audit.log") as log:
            log.record(build_entry(name))
    assert read_names(tmp_path / "audit.log") == ["a", "b"]


def test_a_log_that_has_grown_is_put_aside_and_the_oldest_go(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    with AuditLog(path, largest=2 * 200, kept=2) as log:
        for name in "abcdefg":
            log.record(build_entry(name))
    assert {file.name: read_names(file) for file in tmp_path.iterdir()} == {
        "audit.log": ["g"],
        "audit.log.1": ["e", "f"],
        "audit.log.2": ["c", "d"],
    }


def test_a_log_that_cannot_be_written_is_reported_once_and_stops_nothing(
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
    assert [record.message.partition(str(tmp_path))[0] for record in caplog.records] == ["cannot write ", ""]
    assert "2 lines were lost" in caplog.text


@pytest.mark.parametrize(("text", "length"), [("x" * 512, 512), ("x" * 9999, 512), ("", 0)])
def test_what_clients_send_is_cut(text: str, length: int) -> None:
    assert len(shorten(text)) == length
