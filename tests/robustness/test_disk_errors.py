"""
A full disk, a read-only disk and I/O errors: clients and `/readyz` get the cause, and nothing acknowledged is lost.

The server recovers when the cause is gone, without a restart. `tests/e2e/test_full_disk.py` fills a real file system.
"""

import contextlib
import errno
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from tests.support.acknowledgedwrites import CONFIG_MAPS, Writers
from tests.support.faultydisk import FaultyDisk
from tests.support.longruns import choose
from tests.support.smallmanifests import build_config_map
from tests.support.upprocess import TIMEOUT, System, call_virtshape, wait_until

ROUNDS = choose(short=1, long=15)
RECOVERY_SECONDS = 240.0
"""Limit for the recovery on a loaded machine; the server tries to write every 2 s, and not only when it is idle."""
OPTIONS = ("--launcher", "simulate", "--no-catalog")


class Case(NamedTuple):
    """A fault of the disk, the error that clients get, and what to do about it, which `/readyz` shows."""

    begin: Callable[[FaultyDisk], None]
    error: str
    advice: str = "check the file system of"


WRITE_FAULTS = {
    "full": Case(FaultyDisk.fill, "database or disk is full", "free space in"),
    "read-only": Case(FaultyDisk.make_read_only, "disk I/O error: Read-only file system"),
    "failing writes": Case(lambda disk: disk.fail(writes=errno.EIO), "disk I/O error: Input/output error"),
    "failing syncs": Case(lambda disk: disk.fail(syncs=errno.EIO), "disk I/O error: Input/output error"),
}

START_FAULTS: dict[str, tuple[Callable[[FaultyDisk], None], str]] = {
    "data": (FaultyDisk.make_read_only, "Read-only file system"),
    "new-full": (FaultyDisk.fill, "No space left on device"),
    "new-syncs": (lambda disk: disk.fail(syncs=errno.EIO), "Input/output error"),
    "new-reads": (lambda disk: disk.fail(reads=errno.EIO), "disk I/O error"),
}
"""Names of data directories, the first of which exists, with a fault and the error with which the server ends."""


class Server(NamedTuple):
    """A server on a disk that can fail, and the writers of all tests."""

    disk: FaultyDisk
    system: System
    writers: list[Writers]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    disk = FaultyDisk(tmp_path_factory.mktemp("server"))
    with System(disk.root / "data", *OPTIONS, command=disk.command) as system:
        yield Server(disk, system, [])


def get(system: System, path: str) -> tuple[int, str]:
    with contextlib.closing(system.connect()) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {system.config['token']}"})
        response = connection.getresponse()
        return response.status, response.read().decode()


def wait_for_recovery(system: System) -> None:
    wait_until(lambda: get(system, "/readyz") == (200, "ok"), lambda: get(system, "/readyz")[1], RECOVERY_SECONDS)


def check_status(failure: tuple[int, object], error: str) -> None:
    """Check that an error is a Status that names the cause, and the request to look for in the log."""
    code, status = failure
    assert isinstance(status, dict)
    message = str(status.pop("message"))
    assert (code, status) == (
        500,
        {
            "apiVersion": "v1",
            "kind": "Status",
            "metadata": {},
            "status": "Failure",
            "reason": "InternalError",
            "code": 500,
        },
    )
    assert re.fullmatch(
        rf"Internal error occurred: (writing to|reading from) the database failed: {error} \(request [0-9a-f-]+\)",
        message,
    )


@pytest.mark.parametrize("fault", WRITE_FAULTS)
def test_disk_that_cannot_be_written_is_reported_and_loses_nothing(server: Server, fault: str) -> None:
    disk, system, case = server.disk, server.system, WRITE_FAULTS[fault]
    expected = f"{case.error}: {case.advice} {system.directory}"
    logged = len(system.log.read_text())
    with Writers(system, prefix=fault.replace(" ", "-")) as writers:
        server.writers.append(writers)
        for _ in range(ROUNDS):
            writers.wait_for(20)
            case.begin(disk)
            check_status(writers.wait_for_failure(), case.error)
            code, checks = get(system, "/readyz")
            assert code == 500
            assert f"[-]store failed: {expected}\n" in checks
            assert get(system, "/livez") == (200, "ok")
            assert writers.find_missing(system) == [], "reads still work"
            disk.repair()
            wait_for_recovery(system)
        writers.wait_for(20)
    assert writers.find_missing(system) == []
    log = system.log.read_text()[logged:]
    assert log.count(f"the store is not available: {expected}; trying again every few seconds\n") == ROUNDS
    assert log.count("the store is available again after") == ROUNDS


def test_disk_that_cannot_be_read_is_reported_until_the_failed_read_succeeds(server: Server) -> None:
    disk, system = server.disk, server.system
    assert system.request("POST", CONFIG_MAPS, build_config_map("unread"))[0] == 201  # no reader has this page yet
    disk.fail(reads=errno.EIO)
    check_status(system.request("GET", CONFIG_MAPS), "database disk image is malformed")
    code, checks = get(system, "/readyz")
    assert code == 500
    assert "[-]store failed: reading failed: database disk image is malformed: check the file system of" in checks
    disk.repair()
    wait_for_recovery(system)
    assert "unread" in [item["metadata"]["name"] for item in system.request("GET", CONFIG_MAPS)[1]["items"]]


def test_idle_server_notices_that_the_disk_cannot_be_written(server: Server) -> None:
    disk, system = server.disk, server.system
    logged = len(system.log.read_text())
    disk.make_read_only()
    error = WRITE_FAULTS["read-only"].error
    wait_until(lambda: error in get(system, "/readyz")[1], "the fault is not noticed")
    wait_until(
        lambda: f"the store is not available: {error}" in system.log.read_text()[logged:], "the fault is not logged"
    )
    disk.repair()
    wait_for_recovery(system)


def test_acknowledged_writes_survive_a_restart_after_all_faults(server: Server) -> None:
    data = server.system.directory
    assert server.system.stop() == 0
    assert call_virtshape("check", "--data-dir", data).returncode == 0
    with System(data, *OPTIONS) as system:
        assert len(server.writers) == len(WRITE_FAULTS)
        for writers in server.writers:
            assert writers.find_missing(system) == []


def test_start_on_a_failing_disk_ends_with_the_cause(server: Server) -> None:
    disk = server.disk
    for name, (begin, error) in START_FAULTS.items():
        begin(disk)
        started = subprocess.run(
            [disk.command, "up", "--data-dir", disk.root / name, "--listen", "127.0.0.1:0", "--no-controllers"],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )
        disk.repair()
        assert started.returncode == 1
        assert "Traceback" not in started.stderr
        last = started.stderr.strip().splitlines()[-1]
        assert last.startswith("error: ")
        assert error in last
    with System(server.system.directory, command=disk.command) as system:
        assert get(system, "/readyz") == (200, "ok")
