"""The database file: creation, checks, migration with a backup, and newer versions."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from virtshape.store import database
from virtshape.store.database import check_integrity, migrate, open_for_reading, open_for_writing
from virtshape.store.errors import DatabaseError
from virtshape.store.store import check_file


def test_new_database_file_is_private_valid_and_synced_on_every_commit(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    connection = open_for_writing(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert check_integrity(connection) == []
    connection.close()


def test_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    open_for_writing(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(DatabaseError, match=r"newer virtshape \(format 99, this version supports format 1\): upgrade"):
        open_for_writing(path)


def test_path_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.db").mkdir()
    with pytest.raises(DatabaseError, match="cannot be used as a database: unable to open database file"):
        open_for_writing(tmp_path / "x.db")


def test_older_database_is_migrated_in_one_transaction_after_a_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.db"
    open_for_writing(path).close()
    monkeypatch.setattr(database, "VERSION", 3)
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, path, {1: "CREATE TABLE a (x)", 2: "CREATE TABLE b (x)"})
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    assert {"a", "b", "log", "current"} <= tables
    assert connection.execute("PRAGMA user_version").fetchone() == (3,)
    connection.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.db", "x.v1.backup"]
    assert check_file(tmp_path / "x.v1.backup") == []


def test_failed_migration_leaves_the_database_unchanged_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.db"
    open_for_writing(path).close()
    monkeypatch.setattr(database, "VERSION", 3)
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(DatabaseError, match="to format 3 failed"):
        migrate(connection, path, {1: "CREATE TABLE a (x)", 2: "CREATE NONSENSE"})
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert "a" not in {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    migrate(connection, path, {1: "CREATE TABLE a (x)", 2: "CREATE TABLE b (x)"})
    assert connection.execute("PRAGMA user_version").fetchone() == (3,), "the migration can be repeated"
    connection.close()


def test_read_only_database_connection_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    open_for_writing(path).close()
    reader = open_for_reading(path)
    with pytest.raises(sqlite3.OperationalError):
        reader.execute("DELETE FROM log")
    reader.close()


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        pytest.param(
            "INSERT INTO current VALUES ('r', '', 'x', 5)",
            "without their revision in the log: 1",
            id="missing revision",
        ),
        pytest.param(
            "INSERT INTO log VALUES (1, 'ADDED', 'r', '', 'x', 0, NULL, 0, '')",
            "not current objects: 1",
            id="missing state",
        ),
    ],
)
def test_database_integrity_problems_are_described(tmp_path: Path, damage: str, fault: str) -> None:
    path = tmp_path / "x.db"
    connection = open_for_writing(path)
    connection.execute(damage)
    connection.close()
    assert any(fault in found for found in check_file(path))


def test_file_that_is_not_a_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("hello, this is text and not a database file at all, however long it may be " * 20)
    assert "not a readable database" in check_file(path)[0]
