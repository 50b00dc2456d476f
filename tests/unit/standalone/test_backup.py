"""Backups of data directories and checks of databases, without a server."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from virtshape.standalone.backup import copy_system
from virtshape.standalone.integrity import MAX_FAULTS, check_database
from virtshape.standalone.server import Settings, assemble
from virtshape.standalone.status import read_status
from virtshape.store.errors import DatabaseError
from virtshape.store.summary import summarize


@pytest.fixture
async def system(tmp_path: Path) -> Path:
    """A data directory with the default objects of a server."""
    directory = tmp_path / "data"
    directory.mkdir(mode=0o700)
    async with assemble(Settings(directory=directory, catalog=False)):
        pass
    (directory / "kubeconfig").write_text("a kubeconfig")
    return directory


def _change(directory: Path, *statements: str) -> None:
    with closing(sqlite3.connect(directory / "virtshape.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_backup_contains_database_keys_and_configuration(system: Path, tmp_path: Path) -> None:
    (system / "pki" / "users.json.lock").touch()
    copy = tmp_path / "copy"
    summary = copy_system(system, copy)
    assert summary == summarize(system / "virtshape.db")
    assert summary.objects["namespaces"] == 5
    assert {path.name for path in copy.iterdir()} >= {"kubeconfig", "pki", "virtshape.db"}
    kept = {path.name for path in (system / "pki").iterdir()} - {"users.json.lock"}
    assert {path.name for path in (copy / "pki").iterdir()} == kept
    assert stat.S_IMODE(copy.stat().st_mode) == stat.S_IMODE((copy / "pki").stat().st_mode) == 0o700
    assert stat.S_IMODE((copy / "virtshape.db").stat().st_mode) == 0o600


def test_failed_backup_is_removed(system: Path, tmp_path: Path) -> None:
    _change(system, "DELETE FROM log WHERE resource = 'namespaces'")
    with pytest.raises(
        DatabaseError, match=r"the copy of .* is corrupt: current objects without their revision in the log: 5"
    ):
        copy_system(system, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_backup_of_a_directory_without_a_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="is not a data directory of virtshape"):
        copy_system(tmp_path, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE log SET value = 'nonsense' WHERE name = 'default'", "is not a valid object"),
        ('UPDATE log SET value = replace(value, \'"name":"default"\', \'"name":"other"\')', "contains default/other"),
        ("UPDATE current SET revision = 999 WHERE name = 'default'", "without their revision in the log"),
    ],
    ids=["not JSON", "other name", "missing object"],
)
def test_database_check_reports_corruption(system: Path, statement: str, fault: str) -> None:
    assert check_database(system / "virtshape.db") == []
    _change(system, statement)
    assert any(fault in each for each in check_database(system / "virtshape.db"))


def test_database_check_limits_the_number_of_reported_problems(system: Path) -> None:
    _change(system, "UPDATE log SET value = 'nonsense'")
    faults = check_database(system / "virtshape.db")
    assert len(faults) == MAX_FAULTS + 1
    assert faults[-1].startswith("and ")


def test_status_of_a_stopped_server_changes_no_files(system: Path) -> None:
    before = sorted(path.name for path in system.iterdir())
    status = read_status(system)
    assert not status.running
    assert not status.healthy
    assert status.objects["namespaces"] == 5
    assert "is not a valid kubeconfig" in status.problem
    assert [name for name in sorted(path.name for path in system.iterdir()) if "-" not in name] == before


def test_json_status_of_a_stopped_server_reports_that_it_is_not_healthy(system: Path) -> None:
    assert msgspec.to_builtins(read_status(system))["healthy"] is False


def test_status_reports_a_database_of_a_newer_version(system: Path) -> None:
    _change(system, "PRAGMA user_version = 99")
    with pytest.raises(DatabaseError, match="was written by a newer virtshape"):
        summarize(system / "virtshape.db")
    (system / "kubeconfig").unlink()
    assert "was written by a newer virtshape" in read_status(system).problem
