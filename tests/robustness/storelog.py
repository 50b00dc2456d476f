"""Read the history of a data directory from its database, and check that it is complete and consistent."""

import contextlib
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from virtshape.store.database import open_for_reading
from virtshape.store.record import Key
from virtshape.store.store import FILE_NAME

VMS: Final = "virtualmachines.kubevirt.io"


class Row(NamedTuple):
    """One change; `tree` is the object after it, or the last state of a deleted object."""

    revision: int
    type: str
    key: Key
    tree: Any

    def __str__(self) -> str:
        return f"{self.type} of {self.key.resource} {self.key.name} at {self.revision}"

    @property
    def uid(self) -> str:
        """The UID of the object."""
        uid: str = self.tree["metadata"]["uid"]
        return uid


class StoreLog:
    """The changes since the database was created; `objects` has the last change of each present object."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE_NAME
        self.revision = 0
        self.objects: dict[Key, Row] = {}
        self.last_revisions: dict[str, int] = {}
        """The revision of the last change by resource, including deletions."""
        self.replaced: dict[int, Row] = {}
        """The change that each of the last changes read has replaced, by revision."""

    def read_new(self) -> list[Row]:
        """Return the changes since the last call; raise AssertionError if the history has gaps or contradictions."""
        query = "SELECT revision, type, resource, namespace, name, previous, value FROM log WHERE revision > ?"
        with contextlib.closing(open_for_reading(self._path)) as connection:
            found = connection.execute(f"{query} ORDER BY revision", (self.revision,)).fetchall()
        self.replaced = {}
        rows = []
        for revision, kind, resource, namespace, name, previous, value in found:
            row = Row(revision, kind, Key(resource, namespace, name), json.loads(value))
            self._check(row, previous)
            rows.append(row)
        return rows

    def _check(self, row: Row, previous: int) -> None:
        """Check that a change follows the changes before it, and add it."""
        metadata = row.tree["metadata"]
        assert row.revision == self.revision + 1, f"revisions {self.revision + 1} to {row.revision - 1} are missing"
        assert metadata["resourceVersion"] == str(row.revision), f"{row} has {metadata}"
        assert (metadata["name"], metadata.get("namespace", "")) == (row.key.name, row.key.namespace), (
            f"{row} has {metadata}"
        )
        before = self.objects.get(row.key)
        assert previous == (before.revision if before else 0), f"{row} does not follow {before}"
        assert (row.type == "ADDED") == (before is None), f"{row} does not follow {before}"
        if before is not None:
            self._check_same_object(row, before)
            self.replaced[row.revision] = before
        self.revision = self.last_revisions[row.key.resource] = row.revision
        if row.type == "DELETED":
            del self.objects[row.key]
        else:
            self.objects[row.key] = row

    def _check_same_object(self, row: Row, before: Row) -> None:
        now, then = row.tree["metadata"], before.tree["metadata"]
        for field in ("uid", "creationTimestamp"):
            assert now[field] == then[field], f"{field} differs between {before} and {row}"
        if row.type == "MODIFIED" and row.key.resource == VMS:
            changed = row.tree.get("spec") != before.tree.get("spec")
            deleted = "deletionTimestamp" in now and "deletionTimestamp" not in then
            assert now["generation"] - then["generation"] == (changed or deleted), f"generations of {before} and {row}"
