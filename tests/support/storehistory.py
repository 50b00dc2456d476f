"""The complete history of a database, and the objects at each of its revisions."""

import contextlib
from pathlib import Path
from typing import NamedTuple

from tests.support.acknowledgedwrites import Acknowledgement

from virtshape.store.database import open_for_reading
from virtshape.store.record import Key


class Change(NamedTuple):
    """A change of an object."""

    type: str
    key: Key
    value: bytes


class History:
    """All changes in a database from which nothing was compacted, by revision."""

    def __init__(self, path: Path) -> None:
        with contextlib.closing(open_for_reading(path)) as connection:
            rows = connection.execute(
                "SELECT revision, type, resource, namespace, name, value FROM log ORDER BY revision"
            ).fetchall()
        self._changes = {revision: Change(kind, Key(*key), value) for revision, kind, *key, value in rows}

    def list_objects(self, revision: int) -> dict[Key, bytes]:
        """Return the objects at a revision."""
        objects: dict[Key, bytes] = {}
        for change in [change for number, change in self._changes.items() if number <= revision]:
            if change.type == "DELETED":
                del objects[change.key]
            else:
                objects[change.key] = change.value
        return objects

    def find_later(self, acknowledged: list[Acknowledgement], revision: int) -> list[Acknowledgement]:
        """Return the acknowledged writes that were made after a revision."""
        deletions = {change.key.name: number for number, change in self._changes.items() if change.type == "DELETED"}
        return [write for write in acknowledged if (write.revision or deletions[write.name]) > revision]
