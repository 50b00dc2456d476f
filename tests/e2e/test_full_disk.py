"""A server with a full disk rejects writes with a Status, reports it in `/readyz`, and recovers automatically."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.upprocess import System, call_virtshape, wait_until

SIZE = 24 * 1024 * 1024
PADDING = "x" * 400_000
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@contextlib.contextmanager
def small_file_system(directory: Path) -> Iterator[Path]:
    """Mount a small file system in memory; skip the test if this is not allowed."""
    directory.mkdir()
    command = ["/bin/mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(directory)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a file system: {mounted.stderr.strip()}")
    try:
        yield directory
    finally:
        subprocess.run(["/bin/umount", "-l", str(directory)], check=True)


def fill(directory: Path) -> Path:
    """Fill the free space of a file system with a file."""
    path = directory / "ballast"
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return path


def build_config_map(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"padding": PADDING}}


def get(system: System, path: str) -> tuple[int, str]:
    with contextlib.closing(system.connect()) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {system.config['token']}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting a separate file system needs root")
def test_writes_and_readiness_checks_fail_while_the_disk_is_full(tmp_path: Path) -> None:
    with (
        small_file_system(tmp_path / "disk") as disk,
        System(disk / "data", "--launcher", "simulate", "--no-catalog") as system,
    ):
        assert system.request("POST", CONFIG_MAPS, build_config_map("before"))[0] == 201
        assert get(system, "/readyz") == (200, "ok")
        ballast = fill(disk)
        status: dict[str, Any] = {}
        for number in range(60):  # writes succeed until SQLite has used its preallocated space
            code, status = system.request("POST", CONFIG_MAPS, build_config_map(f"c{number}"))
            if code != 201:
                break
        assert (status["code"], status["reason"]) == (500, "InternalError"), status
        assert "database or disk is full" in status["message"]

        code, text = get(system, "/readyz")
        assert code == 500
        assert f"[-]store failed: database or disk is full: free space in {system.directory}\n" in text
        assert get(system, "/readyz/store")[0] == 500
        assert get(system, "/livez") == (200, "ok")
        assert get(system, f"{CONFIG_MAPS}/before")[0] == 200, "reads still work"
        shown = call_virtshape("status", "--data-dir", system.directory)
        assert shown.returncode == 1
        assert "store failed: database or disk is full" in shown.stdout
        assert "[-]store failed: reason withheld" in get_anonymously(system, "/readyz")

        ballast.unlink()
        wait_until(lambda: get(system, "/readyz") == (200, "ok"), "the server does not recover")
        code, created = system.request("POST", CONFIG_MAPS, build_config_map("after"))
        assert code == 201, created

        def is_healthy() -> bool:
            checked = call_virtshape("status", "--data-dir", system.directory, "-o", "json")
            return json.loads(checked.stdout)["healthy"] is True

        wait_until(is_healthy, "the server is not healthy again")


def get_anonymously(system: System, path: str) -> str:
    with contextlib.closing(system.connect()) as connection:
        connection.request("GET", path)
        text: str = connection.getresponse().read().decode()
        return text
