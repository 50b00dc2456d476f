"""
After a power failure that loses or reorders unsynced writes, the server has every acknowledged write.

The states of the disk are built from what `virtshape up` wrote and synced.
"""

import asyncio
import json
import shutil
import signal
import time
from pathlib import Path
from random import Random
from typing import NamedTuple, get_args

import pytest
import yaml
from tests.support.acknowledgedwrites import CONFIG_MAPS, Acknowledgement, Writers
from tests.support.diskreplay import Disk, Survival, read_operations
from tests.support.faultydisk import FaultyDisk
from tests.support.longruns import choose
from tests.support.storehistory import History
from tests.support.upprocess import System
from tests.support.walrecording import build_write

from virtshape.store.record import Key
from virtshape.store.store import FILE_NAME, Store, check_file
from virtshape.store.summary import read_records

PHASES = (
    (choose(short=280, long=1200), signal.SIGKILL),  # enough for a checkpoint, after which the WAL starts again
    (choose(short=40, long=200), signal.SIGTERM),  # removes the WAL
    (choose(short=40, long=200), signal.SIGTERM),
)
"""Number of acknowledged writes before the server is stopped, and the signal that stops it."""
POWER_FAILURES = choose(short=25, long=300)
STARTS = choose(short=1, long=10)
MAX_PADDING = 80_000


class Run(NamedTuple):
    """A recorded run of the server: acknowledged writes, the history at the end, and when the server was ready."""

    disk: FaultyDisk
    acknowledged: list[Acknowledgement]
    history: History
    ready_at: int
    token: str

    def list_acknowledged(self, before: int) -> list[Acknowledgement]:
        """Return the writes that were acknowledged before a time."""
        return [write for write in self.acknowledged if write.time < before]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A server that is killed, started, stopped and started again while clients write."""
    disk = FaultyDisk(tmp_path_factory.mktemp("run"))
    data = disk.root / "data"
    acknowledged: list[Acknowledgement] = []
    ready_at = 0
    for number, (count, how) in enumerate(PHASES):
        with System(data, command=disk.command) as system:
            ready_at = ready_at or time.monotonic_ns()
            with Writers(system, prefix=f"p{number}-", max_padding=MAX_PADDING) as writers:
                writers.wait_for(count)
                if how == signal.SIGKILL:
                    system.stop(how)
            acknowledged += writers.acknowledged
            if how != signal.SIGKILL:
                assert not writers.failures
                system.stop(how)
    return Run(disk, acknowledged, History(data / FILE_NAME), ready_at, _read_token(data / "kubeconfig"))


def _read_token(kubeconfig: Path) -> str:
    return str(yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]["token"])


def test_acknowledged_writes_survive_power_failures_at_random_points(run: Run, tmp_path: Path) -> None:
    random = Random(1)  # noqa: S311 - not a secret
    times = [operation.time for operation in read_operations(run.disk.log)]
    points = set(random.sample(range(len(times)), POWER_FAILURES))
    starting = set(random.sample(sorted(points), STARTS))
    disk, target = Disk(run.disk.root), tmp_path / "failed"
    for number, operation in enumerate(read_operations(run.disk.log)):
        if number in points:  # the power fails before this operation, and all earlier ones were made
            survival = random.choice(get_args(Survival))
            disk.write_after_failure(target, random, survival)
            _check_data_directory(run, target / "data", operation.time, starts=number in starting)
            shutil.rmtree(target)
        disk.replay(operation)


def _check_data_directory(run: Run, data: Path, failed_at: int, *, starts: bool) -> None:
    acknowledged = run.list_acknowledged(failed_at)
    if failed_at > run.ready_at:
        assert _read_token(data / "kubeconfig") == run.token
    data.mkdir(exist_ok=True)  # the power may have failed before anything was synced
    revision = asyncio.run(_check_store(run, data, acknowledged))
    if starts:
        expected = {
            key.name: value for key, value in run.history.list_objects(revision).items() if is_written_by_clients(key)
        }
        with System(data) as system:
            items = system.request("GET", CONFIG_MAPS)[1]["items"]
            served = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}
        assert served == {name: json.loads(value)["metadata"]["resourceVersion"] for name, value in expected.items()}


def is_written_by_clients(key: Key) -> bool:
    """Return True if the key is that of a ConfigMap in the namespace `default`."""
    return (key.resource, key.namespace) == ("configmaps", "default")


async def _check_store(run: Run, data: Path, acknowledged: list[Acknowledgement]) -> int:
    """Compare a store with the history, write to it, and return the revision that it had."""
    store = Store(data)
    try:
        revision = store.revision
        assert run.history.find_later(acknowledged, revision) == []
        objects = {record.key: record.value for record in read_records(data / FILE_NAME)}
        assert objects == run.history.list_objects(revision)
        event = await store.write(build_write(Key("tests", "", "new"), 0, 10))
        assert event.revision == revision + 1
    finally:
        await store.close()
    assert check_file(data / FILE_NAME) == []
    return revision
