"""
Kill the server repeatedly while clients change VMs.

After every restart, all acknowledged writes are stored, no write is stored partially, watches continue without gaps,
and every VM runs or is stopped as its client requested.
"""

import random
import sys
import time
from pathlib import Path
from typing import Final

from tests.robustness.crashchecks import CrashChecks
from tests.robustness.killing import MERGE_PATCH, KilledServer, seeded
from tests.robustness.storelog import StoreLog
from tests.robustness.vmclients import NAMESPACE, VmClient
from tests.support.longruns import choose
from tests.support.smallmanifests import build_instancetype
from tests.support.upprocess import System

from virtshape.store.store import FILE_NAME, check_file

KILLS: Final = choose(short=10, long=200)
MAX_SECONDS: Final = choose(short=1800, long=7200)
"""Time after which the test fails instead of starting another round."""
CLIENTS: Final = 16
VMS_PER_CLIENT: Final = 3
SHAPES: Final = f"/apis/instancetype.kubevirt.io/v1beta2/namespaces/{NAMESPACE}"


def create_shapes(system: System) -> None:
    preference = {"kind": "VirtualMachinePreference", "metadata": {"name": "plain"}, "spec": {}}
    for path, tree in (
        ("/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": NAMESPACE}}),
        (f"{SHAPES}/virtualmachineinstancetypes", build_instancetype(vcpus=1)),
        (f"{SHAPES}/virtualmachinepreferences", preference | {"apiVersion": "instancetype.kubevirt.io/v1beta2"}),
    ):
        code, answer = system.request("POST", path, tree)
        assert code == 201, answer


def resize(system: System, vcpus: int) -> None:
    """Change the instance type, so that later VMs capture another revision."""
    path, patch = f"{SHAPES}/virtualmachineinstancetypes/small", {"spec": {"cpu": {"guest": vcpus}}}
    code, answer = system.request("PATCH", path, patch, **{"Content-Type": MERGE_PATCH})
    assert code == 200, answer


def test_crashes_lose_no_acknowledged_write_and_start_no_vm_twice(tmp_path: Path) -> None:
    with seeded() as generator:
        server = KilledServer(tmp_path / "data", "--launcher", "simulate")
        try:
            run_rounds(server, generator)
        finally:
            server.close()
    assert check_file(server.directory / FILE_NAME) == []
    log = server.system.log.read_text()
    assert "Traceback" not in log, log


def run_rounds(server: KilledServer, generator: random.Random) -> None:
    create_shapes(server.system)
    clients = [
        VmClient(number, VMS_PER_CLIENT, random.Random(generator.random()))  # noqa: S311 - not secrets
        for number in range(CLIENTS)
    ]
    checks = CrashChecks(server.system, StoreLog(server.directory), clients)
    began = time.monotonic()
    try:
        while server.kills < KILLS:
            assert time.monotonic() - began < MAX_SECONDS, f"only {server.kills} kills: {checks.counts}"
            server.kill_under_load([client.run for client in clients], generator)
            if generator.random() < 0.25 and server.kills < KILLS:
                server.kill_while_starting(generator)
            server.restart()
            checks.check()
            resize(server.system, server.kills % 8 + 1)
    finally:
        checks.stop()
    counts = ", ".join(f"{number} {what}" for what, number in checks.counts.items())
    sys.stdout.write(f"{server.kills} kills in {time.monotonic() - began:.0f} s: {counts}\n")
    assert checks.counts["acknowledged"] > KILLS
    assert checks.counts["open"] > 0
    assert checks.counts["VMIs"] > 0
