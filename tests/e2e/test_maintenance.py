"""Maintenance commands: status, stop, backup, check and users."""

import contextlib
import json
import signal
import sqlite3
import stat
from pathlib import Path

import pytest
from tests.e2e.load import Load
from tests.support.smallmanifests import build_config_map
from tests.support.upprocess import TIMEOUT, System, call_virtshape

SETTINGS = "/api/v1/namespaces/default/configmaps"


def test_virtshape_status_shows_the_state_of_the_server(data: Path) -> None:
    assert call_virtshape("status", "--data-dir", data).returncode == 1
    with System(data) as system:
        system.request("POST", SETTINGS, build_config_map())
        shown = json.loads(call_virtshape("status", "-o", "json", "--data-dir", data).stdout)
        assert {name: shown[name] for name in ("running", "healthy", "pid", "url")} == {
            "running": True,
            "healthy": True,
            "pid": system.process.pid,
            "url": system.url,
        }
        assert shown["objects"]["configmaps"] == 1
        table = call_virtshape("status", "--data-dir", data)
        assert table.returncode == 0
        assert table.stdout.startswith("STATE       healthy\n")
    stopped = call_virtshape("status", "--data-dir", data)
    assert stopped.returncode == 1
    assert "not running" in stopped.stdout


def test_status_and_down_report_a_server_that_does_not_respond(data: Path) -> None:
    with System(data) as system:
        system.process.send_signal(signal.SIGSTOP)
        try:
            shown = call_virtshape("status", "-o", "json", "--data-dir", data)
            down = call_virtshape("down", "--timeout", "0.3", "--data-dir", data)
        finally:
            system.process.send_signal(signal.SIGCONT)
    assert shown.returncode == 1
    assert "did not respond" in json.loads(shown.stdout)["problem"]
    assert down.returncode == 1
    assert f"process {system.process.pid} is still running after 0.3 seconds" in down.stderr


def test_down_stops_a_server_started_in_another_terminal(data: Path) -> None:
    with System(data) as system:
        result = call_virtshape("down", "--data-dir", data)
        assert result.returncode == 0, result.stderr
        assert f"(process {system.process.pid})" in result.stdout
        assert system.process.wait(TIMEOUT) == 0
    again = call_virtshape("down", "--data-dir", data)
    assert (again.returncode, again.stdout) == (0, f"no server is running in {data}\n")


def test_server_runs_from_a_consistent_backup(data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with System(data) as system:
        load = Load(system, only_creates=True)
        load.wait_for(100)
        copied = call_virtshape("backup", copy, "--data-dir", data)
        load.wait_for(len(load.stories) + 20)
        load.stop()
        assert copied.returncode == 0, copied.stderr
    assert call_virtshape("check", copy).returncode == 0
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    with System(copy) as system:
        listed = system.request("GET", SETTINGS)[1]["items"]
        there = [int(item["metadata"]["name"].rpartition("-")[2]) for item in listed]
        writers = [item["metadata"]["name"].rpartition("-")[0] for item in listed]
        assert 0 < len(there) < len(load.stories)
        for writer in set(writers):  # the backup has the first writes of each client, without gaps
            mine = sorted(count for count, who in zip(there, writers, strict=True) if who == writer)
            assert mine == list(range(len(mine)))
    again = call_virtshape("backup", copy, "--data-dir", data)
    assert again.returncode == 1
    assert f"{copy} already exists" in again.stderr


def test_check_detects_a_damaged_database(data: Path) -> None:
    with System(data) as system:
        system.request("POST", SETTINGS, build_config_map())
    with contextlib.closing(sqlite3.connect(data / "virtshape.db")) as connection, connection:
        connection.execute("UPDATE log SET value = '{}' WHERE resource = 'configmaps'")
    result = call_virtshape("check", "--data-dir", data)
    assert result.returncode == 1
    assert "configmaps default/settings is not a valid object" in result.stderr


def test_users_are_created_and_removed_while_the_server_is_stopped(data: Path) -> None:
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/user:heidi:view"
    with System(data):
        pass
    added = call_virtshape("user", "add", "heidi", "--role", "view", "--data-dir", data)
    assert added.returncode == 0, added.stderr
    with System(data) as system:
        assert system.request("GET", bindings)[0] == 200
    assert call_virtshape("user", "rm", "heidi", "--data-dir", data).returncode == 0
    with System(data) as system:
        assert system.request("GET", bindings)[0] == 404


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["user", "add", "bob"], "is not a data directory of virtshape"),
        (["user", "list"], "is not a data directory"),
        (["backup", "copy"], "is not a data directory of virtshape"),
        (["check"], "does not exist"),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_missing_data_directory_is_reported_and_not_created(data: Path, arguments: list[str], expected: str) -> None:
    result = call_virtshape(*arguments, "--data-dir", data)
    assert result.returncode == 1
    assert expected in result.stderr
    assert not data.exists()
