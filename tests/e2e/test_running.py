"""Start, stop and crash of a server, and the durability of its data."""

import contextlib
import json
import signal
import socket
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.load import Load
from tests.support.skipping import IMPOSSIBLE
from tests.support.smallmanifests import build_config_map, build_vm
from tests.support.upprocess import TIMEOUT, System, call_virtshape, wait_until

MACHINE_KINDS = ("virtualmachines", "virtualmachineinstances")
SETTINGS = "/api/v1/namespaces/default/configmaps"


def test_startup_prints_the_address_and_the_next_command(data: Path) -> None:
    with System(data) as system:
        assert f"virtshape is ready at {system.url}" in system.greeting
        assert f"export KUBECONFIG={system.kubeconfig}" in system.greeting
        assert "kubectl get vm" in system.greeting
        assert f"virtshape down --data-dir {data}" in system.greeting
        assert {stat.S_IMODE(path.stat().st_mode) for path in (data, data / "pki")} == {0o700}
        files = [system.kubeconfig, data / "virtshape.db", data / "pki" / "ca.key", data / "audit.log"]
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_kubeconfig_has_the_listening_address(data: Path) -> None:
    with System(data) as system:
        reported = system.request("GET", "/api")[1]["serverAddressByClientCIDRs"][0]["serverAddress"]
        assert f"https://{reported}" == system.url


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--no-controllers"], []),
        (["--launcher", "none"], ["Scheduling"]),
        (["--launcher", "simulate"], ["Running"]),
    ],
    ids=["no controllers", "no launcher", "simulated"],
)
def test_instance_phase_depends_on_the_controller_and_launcher_flags(
    data: Path, arguments: list[str], expected: list[str]
) -> None:
    machines, instances = (f"/apis/kubevirt.io/v1/namespaces/default/{kind}" for kind in MACHINE_KINDS)
    with System(data, *arguments) as system:
        code, answer = system.request("POST", machines, build_vm(runStrategy="Always"))
        assert code == 201, answer

        def list_phases() -> list[str]:
            items = system.request("GET", instances)[1]["items"]
            return [item.get("status", {}).get("phase", "") for item in items]

        wait_until(lambda: list_phases() == expected, lambda: str(list_phases()))


def test_no_catalog_flag_omits_the_catalog(data: Path) -> None:
    path = "/apis/instancetype.kubevirt.io/v1beta2/virtualmachineclusterinstancetypes"
    with System(data, "--no-catalog") as system:
        assert system.request("GET", path)[1]["items"] == []
    with System(data) as system:
        assert len(system.request("GET", path)[1]["items"]) > 50


@pytest.mark.parametrize(
    ("listen", "host"),
    [("[::1]:0", "[::1]"), (":0", "127.0.0.1"), ("localhost:0", "localhost")],
    ids=["IPv6", "everywhere", "by name"],
)
def test_server_listens_on_the_given_address(data: Path, listen: str, host: str) -> None:
    if host == "[::1]" and not _has_ipv6():
        pytest.skip(f"{IMPOSSIBLE}IPv6 is not available")
    with System(data, "--no-controllers", "--no-catalog", listen=listen) as system:
        assert system.url.startswith(f"https://{host}:")
        assert system.request("GET", SETTINGS)[0] == 200
        assert call_virtshape("status", "--data-dir", data).returncode == 0


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_server_without_data_loss(data: Path, number: int) -> None:
    with System(data) as system:
        code, made = system.request("POST", SETTINGS, build_config_map())
        assert code == 201
        token = system.config["token"]
        assert system.stop(number) == 0
        assert "Traceback" not in system.log.read_text()
    with System(data) as system:
        assert system.request("GET", f"{SETTINGS}/settings") == (200, made)
        assert system.config["token"] == token


def test_stopped_server_has_a_single_database_file(data: Path) -> None:
    with System(data) as system:
        system.request("POST", SETTINGS, build_config_map())
    assert [path.name for path in data.glob("virtshape.db*")] == ["virtshape.db"]


def test_server_shutdown_ends_an_open_watch_cleanly(data: Path) -> None:
    with System(data) as system:
        with contextlib.closing(system.connect()) as connection:
            headers = {"Authorization": f"Bearer {system.config['token']}"}
            connection.request("GET", f"{SETTINGS}?watch=true", headers=headers)
            watch = connection.getresponse()
            system.request("POST", SETTINGS, build_config_map())
            assert json.loads(watch.readline())["object"]["metadata"]["name"] == "settings"
            system.process.send_signal(signal.SIGTERM)
            assert watch.read() == b""  # an aborted connection would raise IncompleteRead
        assert system.process.wait(TIMEOUT) == 0


def test_writes_acknowledged_before_sigterm_are_durable(data: Path) -> None:
    """All acknowledged writes are persistent; writes without a response may be lost."""
    with System(data) as system:
        made = _write_until(system, lambda: system.process.send_signal(signal.SIGTERM))
        assert system.process.wait(TIMEOUT) == 0
    assert made
    with System(data) as system:
        there = {item["metadata"]["name"] for item in system.request("GET", SETTINGS)[1]["items"]}
        assert made <= there


def test_acknowledged_writes_survive_a_kill(data: Path) -> None:
    made: set[str] = set()
    for _ in range(4):
        with System(data, "--no-controllers", "--no-catalog") as system:
            there = {item["metadata"]["name"] for item in system.request("GET", SETTINGS)[1]["items"]}
            assert made <= there
            acknowledged = _write_until(system, system.process.kill)
            assert len(acknowledged) > 20
            made |= acknowledged
            system.process.wait(TIMEOUT)
    assert call_virtshape("check", "--data-dir", data).returncode == 0


def _write_until(system: System, end: Callable[[], object]) -> set[str]:
    """Write from several clients while `end` stops the server, and return the names of acknowledged objects."""
    load = Load(system, prefix=f"c{system.process.pid}-", only_creates=True)
    load.wait_for(100)
    end()
    load.stop()
    return set(load.stories)


def test_second_server_in_the_same_data_directory_is_refused(data: Path) -> None:
    with System(data) as system:
        result = call_virtshape("up", "--data-dir", data, "--listen", "127.0.0.1:0")
        assert result.returncode == 1
        assert f"{data} is in use by process {system.process.pid}" in result.stderr
        assert "Traceback" not in result.stderr
        assert system.request("GET", "/api")[0] == 200


def test_server_starts_again_after_it_was_killed(data: Path) -> None:
    with System(data) as system:
        system.stop(signal.SIGKILL)
    with System(data) as system:
        assert system.stop() == 0


def test_listen_address_in_use_is_reported(data: Path, tmp_path: Path) -> None:
    with System(data) as system:
        address = system.url.removeprefix("https://")
        result = call_virtshape("up", "--data-dir", tmp_path / "other", "--listen", address)
    assert result.returncode == 1
    assert f"cannot listen on {address}: Address already in use" in result.stderr


def test_newer_database_version_is_refused_with_a_message(data: Path) -> None:
    with System(data):
        pass
    with contextlib.closing(sqlite3.connect(data / "virtshape.db")) as connection:
        connection.execute("PRAGMA user_version = 999")
    for arguments in (["up", "--listen", "127.0.0.1:0"], ["check"], ["status"]):
        result = call_virtshape(*arguments, "--data-dir", data)
        assert result.returncode == 1
        assert "was written by a newer virtshape" in result.stderr + result.stdout
        assert "Traceback" not in result.stderr


def test_invalid_database_file_is_refused_with_a_message(data: Path) -> None:
    data.mkdir()
    (data / "virtshape.db").write_text("not a database, but long enough to be taken for one" * 100)
    for arguments in (["up", "--listen", "127.0.0.1:0"], ["check"], ["backup", str(data.with_name("copy"))]):
        result = call_virtshape(*arguments, "--data-dir", data)
        assert result.returncode == 1, result
        assert "database" in result.stderr
        assert "Traceback" not in result.stderr


def test_requests_are_logged_at_debug_level_without_tokens(data: Path) -> None:
    with System(data, "--log-level", "debug", "--log-format", "json") as system:
        system.request("GET", SETTINGS)
        system.stop()
        lines = [json.loads(line) for line in system.log.read_text().splitlines()]
    access = [line for line in lines if line["logger"] == "virtshape.access"]
    assert {"method": "GET", "target": SETTINGS, "status": 200}.items() <= access[0].items()
    assert system.config["token"] not in system.log.read_text()


def test_default_data_directory_is_in_the_users_state_directory(tmp_path: Path) -> None:
    result = call_virtshape("status", XDG_STATE_HOME=str(tmp_path), HOME="/nonexistent")
    assert f"DATA        {tmp_path}/virtshape\n" in result.stdout
    result = call_virtshape("status", XDG_STATE_HOME="", HOME=str(tmp_path))
    assert f"DATA        {tmp_path}/.local/state/virtshape\n" in result.stdout
