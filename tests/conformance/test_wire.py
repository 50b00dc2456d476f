"""Recordings of a real Kubernetes API server, replayed over TLS; responses match except for listed differences."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.loopback import LoopbackServer

FOLDER = os.environ.get("VIRTSHAPE_WIRE")
FORGOTTEN = "forgotten"
TIMEOUT = 600.0

# Recordings with intended differences, each with the reason.
DEVIATIONS = {
    "create-schema-vm.kv": "a missing template is reported at its field, as for any kind",
    "discovery-aggregated-apis": "kubevirt.io has no migrations, presets and replica sets here",
    "kv-vm-instancetype-conflict": "all memory conflicts are reported, not only the first",
    "kv-vm-invalid-spec": "zero memory is rejected",
    "kv-vmi-create": "sockets and memory have no maximum unless set; guest memory is requested",
    "table-get": "instance types have columns for vCPUs, memory, topology and dedicated CPUs",
}


@pytest.fixture(autouse=True)
def _recordings() -> None:
    if FOLDER is None:
        pytest.skip("VIRTSHAPE_WIRE is not the path of a folder with recordings")


@pytest.fixture
def system(tmp_path: Path) -> Iterator[LoopbackServer]:
    """A server that compacts its history on a signal, so that the replay can request it."""
    with LoopbackServer(tmp_path / "data", tls=True, catalog=True) as server:

        def forget(*_: object) -> None:
            server.compact()
            (tmp_path / FORGOTTEN).touch()

        previous = signal.signal(signal.SIGUSR1, forget)
        yield server
        signal.signal(signal.SIGUSR1, previous)


def list_recordings() -> list[Path]:
    """Return the recordings, except those made without webhooks."""
    paths = sorted(Path(FOLDER or "").glob("*.json"))
    return [path for path in paths if "no-webhooks" not in json.loads(path.read_text()).get("needs", [])]


def replay(system: LoopbackServer, directory: Path) -> dict[str, Any]:
    """Return the result of each recording: `pass`, `skipped` or its differences."""
    results, forgotten = directory / "results.json", directory / FORGOTTEN
    output = {
        "--url": system.url,
        "--token": system.token,
        "--ca": str(directory / "data" / "pki" / "ca.crt"),
        "--level": "core",
        "--kubectl": shutil.which("kubectl") or "",
        "--have": "webhooks,compaction",
        "--compact-cmd": f"kill -USR1 {os.getpid()}; until rm '{forgotten}' 2>/dev/null; do sleep 0.05; done",
        "--json": str(results),
    }
    script = str(Path(FOLDER or "", "replay.py"))
    options = [word for pair in output.items() for word in pair]
    command = [sys.executable, script, *options, *map(str, list_recordings())]
    subprocess.run(command, check=False, timeout=TIMEOUT, stdout=subprocess.DEVNULL)
    outcomes: dict[str, Any] = json.loads(results.read_text())
    return outcomes


def test_responses_match_the_recording_except_known_differences(system: LoopbackServer, tmp_path: Path) -> None:
    outcomes = replay(system, tmp_path)
    failed = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, list)}
    assert len(outcomes) == len(list_recordings())
    assert {name: failed[name] for name in failed.keys() - DEVIATIONS.keys()} == {}
    assert failed.keys() == DEVIATIONS.keys()
    skipped = [name for name, outcome in outcomes.items() if outcome == "skipped"]
    assert not skipped or not (shutil.which("kubectl") or "CI" in os.environ), skipped
