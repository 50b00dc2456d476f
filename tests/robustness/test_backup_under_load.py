"""A backup that is made while clients write has everything that was acknowledged before it began."""

import time
from pathlib import Path
from random import Random

from tests.support.acknowledgedwrites import CONFIG_MAPS, Writers
from tests.support.diskreplay import Disk, read_operations
from tests.support.faultydisk import FaultyDisk
from tests.support.longruns import choose
from tests.support.smallmanifests import build_config_map
from tests.support.storehistory import History
from tests.support.upprocess import System, call_virtshape

from virtshape.store.store import FILE_NAME
from virtshape.store.summary import read_records, summarize

BACKUPS = choose(short=3, long=20)


def list_files(directory: Path) -> dict[str, bytes]:
    """Return the contents of all files below a directory that are not empty and not shared memory."""
    files = {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    return {name: content for name, content in files.items() if content and not name.endswith("-shm")}


def test_backup_has_every_write_acknowledged_before_it_began(tmp_path: Path) -> None:
    data = tmp_path / "data"
    began: dict[Path, int] = {}
    with System(data) as system:
        with Writers(system) as writers:
            for number in range(BACKUPS):
                writers.wait_for(60)
                copy = tmp_path / f"copy-{number}"
                began[copy] = time.monotonic_ns()
                copied = call_virtshape("backup", copy, "--data-dir", data)
                assert copied.returncode == 0, copied.stderr
            writers.wait_for(20)
        assert not writers.failures
        token = system.config["token"]
    history = History(data / FILE_NAME)
    for copy, moment in began.items():
        revision = summarize(copy / FILE_NAME).revision
        before = [write for write in writers.acknowledged if write.time < moment]
        assert before
        assert history.find_later(before, revision) == []
        copied_objects = {record.key: record.value for record in read_records(copy / FILE_NAME)}
        assert copied_objects == history.list_objects(revision)
    last = list(began)[-1]
    expected = {key.name for key in copied_objects if (key.resource, key.namespace) == ("configmaps", "default")}
    with System(last) as system:
        assert system.config["token"] == token
        assert {item["metadata"]["name"] for item in system.request("GET", CONFIG_MAPS)[1]["items"]} == expected
        assert system.request("POST", CONFIG_MAPS, build_config_map("new"))[0] == 201


def test_finished_backup_survives_a_power_failure(tmp_path: Path) -> None:
    disk = FaultyDisk(tmp_path)
    data, copy = tmp_path / "data", disk.root / "backups" / "monday"
    with System(data) as system:
        assert system.request("POST", CONFIG_MAPS, build_config_map("kept"))[0] == 201
        copied = call_virtshape("backup", copy, "--data-dir", data, prefix=["env", *disk.settings])
        assert copied.returncode == 0, copied.stderr
    replayed = Disk(disk.root)
    for operation in read_operations(disk.log):
        replayed.replay(operation)
    replayed.write_after_failure(tmp_path / "failed", Random(1), "nothing")  # noqa: S311 - not a secret
    assert list_files(tmp_path / "failed" / "backups" / "monday") == list_files(copy)
    assert list_files(copy).keys() >= {"kubeconfig", "pki/ca.key", "pki/users.json", FILE_NAME}
