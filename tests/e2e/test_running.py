"""Starting, stopping, crashing, copying: what becomes of a system and of what it holds."""

import contextlib
import http.client
import json
import os
import signal
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.manifests import build_machine, build_settings
from tests.e2e.system import System, call_virtshape

MACHINE_KINDS = ("virtualmachines", "virtualmachineinstances")
SETTINGS = "/api/v1/namespaces/default/configmaps"


def test_it_says_where_it_is_and_what_to_type_next(data: Path) -> None:
    with System(data) as system:
        assert f"virtshape is ready at {system.url}" in system.greeting
        assert f"export KUBECONFIG={system.kubeconfig}" in system.greeting
        assert "kubectl get vm" in system.greeting
        assert f"virtshape down --data-dir {data}" in system.greeting
        assert {stat.S_IMODE(path.stat().st_mode) for path in (data, data / "pki")} == {0o700}
        files = [system.kubeconfig, data / "virtshape.db", data / "pki" / "ca.key", data / "audit.log"]
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_what_does_not_exist_yet_is_said_and_not_pretended(data: Path) -> None:
    with System(data, "--launcher", "qemu") as system:
        assert "this build has no launcher qemu yet" in system.log.read_text()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--no-controllers"], []),
        (["--launcher", "none"], ["Scheduling"]),
        (["--launcher", "simulate"], ["Running"]),
    ],
    ids=["no controllers", "no launcher", "simulated"],
)
def test_what_runs_machines_is_chosen(data: Path, words: list[str], expected: list[str]) -> None:
    machines, instances = (f"/apis/kubevirt.io/v1/namespaces/default/{kind}" for kind in MACHINE_KINDS)
    with System(data, *words) as system:
        code, answer = system.ask("POST", machines, build_machine(runStrategy="Always"))
        assert code == 201, answer
        deadline = time.monotonic() + 10
        phases: list[str] | None = None
        while phases != expected:
            assert time.monotonic() < deadline, phases
            time.sleep(0.1)
            items = system.ask("GET", instances)[1]["items"]
            phases = [item.get("status", {}).get("phase", "") for item in items]


def test_the_catalogue_may_be_left_out(data: Path) -> None:
    path = "/apis/instancetype.kubevirt.io/v1beta2/virtualmachineclusterinstancetypes"
    with System(data, "--no-catalog") as system:
        assert system.ask("GET", path)[1]["items"] == []
    with System(data) as system:
        assert len(system.ask("GET", path)[1]["items"]) > 50


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_quietly_and_what_it_holds_stays(data: Path, number: int) -> None:
    with System(data) as system:
        code, made = system.ask("POST", SETTINGS, build_settings())
        assert code == 201
        token = system.config["token"]
        assert system.stop(number) == 0
        assert "Traceback" not in system.log.read_text()
    with System(data) as system:
        assert system.ask("GET", f"{SETTINGS}/settings") == (200, made)
        assert system.config["token"] == token


def test_a_stopped_system_is_one_file_of_data(data: Path) -> None:
    with System(data) as system:
        system.ask("POST", SETTINGS, build_settings())
    assert [path.name for path in data.glob("virtshape.db*")] == ["virtshape.db"]


def test_an_open_watch_is_ended_and_not_cut_off(data: Path) -> None:
    with System(data) as system:
        with contextlib.closing(system.connect()) as connection:
            headers = {"Authorization": f"Bearer {system.config['token']}"}
            connection.request("GET", f"{SETTINGS}?watch=true", headers=headers)
            watch = connection.getresponse()
            system.ask("POST", SETTINGS, build_settings())
            assert json.loads(watch.readline())["object"]["metadata"]["name"] == "settings"
            began = time.monotonic()
            system.process.send_signal(signal.SIGTERM)
            assert watch.read() == b""  # an answer that breaks off raises IncompleteRead
        assert system.process.wait(10) == 0
        assert time.monotonic() - began < 5


def test_a_write_in_flight_is_finished(data: Path) -> None:
    """Every write that is sent before the signal is either answered as made and there again, or not answered."""
    with System(data) as system:
        made = _write_until_the_end(system, lambda: system.process.send_signal(signal.SIGTERM))
        assert system.process.wait(10) == 0
    assert made
    with System(data) as system:
        there = {item["metadata"]["name"] for item in system.ask("GET", SETTINGS)[1]["items"]}
        assert set(made) <= there


def test_what_was_acknowledged_survives_being_killed(data: Path) -> None:
    for _ in range(3):
        with System(data) as system:
            made = _write_until_the_end(system, system.process.kill)
            system.process.wait(10)
        assert len(made) > 50
        with System(data) as system:
            there = {item["metadata"]["name"] for item in system.ask("GET", SETTINGS)[1]["items"]}
            assert set(made) <= there
    assert call_virtshape("check", "--data-dir", data).returncode == 0


def _write_until_the_end(system: System, end: Callable[[], object]) -> list[str]:
    """Write from several clients at once, end the server meanwhile; what it had acknowledged."""
    made: list[str] = []
    headers = {"Authorization": f"Bearer {system.config['token']}", "Content-Type": "application/json"}
    connections = [system.connect() for _ in range(4)]

    def write(number: int) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            for count in range(100_000):
                name = f"c{os.getpid()}-{system.process.pid}-{number}-{count}"
                connections[number].request("POST", SETTINGS, json.dumps(build_settings(name)), headers)
                answer = connections[number].getresponse()
                answer.read()
                if answer.status != 201:
                    return
                made.append(name)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(len(connections))]
    for thread in threads:
        thread.start()
    time.sleep(0.7)
    end()
    for thread in threads:
        thread.join(20)
    for connection in connections:
        connection.close()
    return made


def test_a_second_one_in_the_same_directory_is_refused(data: Path) -> None:
    with System(data) as system:
        ran = call_virtshape("up", "--data-dir", data, "--listen", "127.0.0.1:0")
        assert ran.returncode == 1
        assert f"{data} is in use by process {system.process.pid}" in ran.stderr
        assert "Traceback" not in ran.stderr
        assert system.ask("GET", "/api")[0] == 200


def test_a_directory_is_free_again_after_a_crash(data: Path) -> None:
    with System(data) as system:
        system.stop(signal.SIGKILL)
    with System(data) as system:
        assert system.stop() == 0


def test_an_address_in_use_is_named(data: Path, tmp_path: Path) -> None:
    with System(data) as system:
        address = system.url.removeprefix("https://")
        ran = call_virtshape("up", "--data-dir", tmp_path / "other", "--listen", address)
    assert ran.returncode == 1
    assert f"cannot listen on {address}: Address already in use" in ran.stderr


def test_a_database_of_a_newer_version_is_refused_with_words(data: Path) -> None:
    with System(data):
        pass
    with contextlib.closing(sqlite3.connect(data / "virtshape.db")) as connection:
        connection.execute("PRAGMA user_version = 999")
    for words in (["up", "--listen", "127.0.0.1:0"], ["check"], ["status"]):
        ran = call_virtshape(*words, "--data-dir", data)
        assert ran.returncode == 1
        assert "was written by a newer virtshape" in ran.stderr + ran.stdout
        assert "Traceback" not in ran.stderr


def test_a_file_that_is_no_database_is_refused_with_words(data: Path) -> None:
    data.mkdir()
    (data / "virtshape.db").write_text("not a database, but long enough to be taken for one" * 100)
    for words in (["up", "--listen", "127.0.0.1:0"], ["check"], ["backup", str(data.with_name("copy"))]):
        ran = call_virtshape(*words, "--data-dir", data)
        assert ran.returncode == 1, ran
        assert "database" in ran.stderr
        assert "Traceback" not in ran.stderr


def test_the_state_of_a_system_is_shown(data: Path) -> None:
    assert call_virtshape("status", "--data-dir", data).returncode == 1
    with System(data) as system:
        system.ask("POST", SETTINGS, build_settings())
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


def test_a_system_that_hangs_is_not_called_healthy(data: Path) -> None:
    with System(data) as system:
        system.process.send_signal(signal.SIGSTOP)
        try:
            shown = call_virtshape("status", "-o", "json", "--data-dir", data)
            down = call_virtshape("down", "--timeout", "0.3", "--data-dir", data)
        finally:
            system.process.send_signal(signal.SIGCONT)
    assert shown.returncode == 1
    assert "does not answer" in json.loads(shown.stdout)["problem"]
    assert down.returncode == 1
    assert f"process {system.process.pid} still runs after 0.3 seconds" in down.stderr


def test_it_is_stopped_from_another_terminal(data: Path) -> None:
    with System(data) as system:
        ran = call_virtshape("down", "--data-dir", data)
        assert ran.returncode == 0, ran.stderr
        assert f"(process {system.process.pid})" in ran.stdout
        assert system.process.wait(10) == 0
    again = call_virtshape("down", "--data-dir", data)
    assert (again.returncode, again.stdout) == (0, f"no system runs in {data}\n")


def test_a_copy_is_of_one_moment_and_can_be_run(data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with System(data) as system:
        copied: list[str] = []

        def back_up() -> None:
            copied.append(call_virtshape("backup", copy, "--data-dir", data).stderr)
            system.process.send_signal(signal.SIGTERM)

        made = _write_until_the_end(system, back_up)
        assert copied == [""]
    assert call_virtshape("check", copy).returncode == 0
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    with System(copy) as system:
        listed = system.ask("GET", SETTINGS)[1]["items"]
        there = [int(item["metadata"]["name"].rpartition("-")[2]) for item in listed]
        writers = [item["metadata"]["name"].rpartition("-")[0] for item in listed]
        assert 0 < len(there) < len(made)
        for writer in set(writers):  # of each client a beginning, without gaps
            mine = sorted(count for count, who in zip(there, writers, strict=True) if who == writer)
            assert mine == list(range(len(mine)))
    again = call_virtshape("backup", copy, "--data-dir", data)
    assert again.returncode == 1
    assert f"{copy} exists" in again.stderr


def test_a_damaged_database_is_found(data: Path) -> None:
    with System(data) as system:
        system.ask("POST", SETTINGS, build_settings())
    with contextlib.closing(sqlite3.connect(data / "virtshape.db")) as connection, connection:
        connection.execute("UPDATE log SET value = '{}' WHERE resource = 'configmaps'")
        connection.execute("DELETE FROM log WHERE resource = 'nodes'")
    ran = call_virtshape("check", "--data-dir", data)
    assert ran.returncode == 1
    assert "configmaps default/settings is no object" in ran.stderr


def test_users_are_made_and_removed_while_it_is_stopped(data: Path) -> None:
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/user:heidi:view"
    with System(data):
        pass
    added = call_virtshape("user", "add", "heidi", "--role", "view", "--data-dir", data)
    assert added.returncode == 0, added.stderr
    with System(data) as system:
        assert system.ask("GET", bindings)[0] == 200
    assert call_virtshape("user", "rm", "heidi", "--data-dir", data).returncode == 0
    with System(data) as system:
        assert system.ask("GET", bindings)[0] == 404


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["user", "add", "bob"], "there is no system in"),
        (["user", "list"], "there is no system in"),
        (["backup", "copy"], "there is no system in"),
        (["check"], "there is no"),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_a_directory_without_a_system_is_said_to_have_none(data: Path, words: list[str], expected: str) -> None:
    ran = call_virtshape(*words, "--data-dir", data)
    assert ran.returncode == 1
    assert expected in ran.stderr
    assert not data.exists()


def test_requests_are_logged_when_asked_for(data: Path) -> None:
    with System(data, "--log-level", "debug", "--log-format", "json") as system:
        system.ask("GET", SETTINGS)
        system.stop()
        lines = [json.loads(line) for line in system.log.read_text().splitlines()]
    access = [line for line in lines if line["logger"] == "virtshape.access"]
    assert {"method": "GET", "target": SETTINGS, "status": 200}.items() <= access[0].items()
    assert system.config["token"] not in system.log.read_text()


def test_the_default_directory_is_that_of_the_users_state(tmp_path: Path) -> None:
    ran = call_virtshape("status", XDG_STATE_HOME=str(tmp_path), HOME="/nonexistent")
    assert f"DATA        {tmp_path}/virtshape\n" in ran.stdout
    ran = call_virtshape("status", XDG_STATE_HOME="", HOME=str(tmp_path))
    assert f"DATA        {tmp_path}/.local/state/virtshape\n" in ran.stdout
