"""Snapshots: lists of objects from one read transaction, which later writes do not change."""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence

import msgspec

from virtshape.store.compaction import require_not_compacted
from virtshape.store.database import last_revision
from virtshape.store.errors import FutureError
from virtshape.store.record import Key, Page, Record

_PRESENT = "FROM current c JOIN log l ON l.revision = c.revision WHERE c.resource = :resource"
_COLUMNS = "c.namespace AS namespace, c.name AS name, c.revision AS revision, l.value AS value"
# Objects at a past revision: objects that have not changed since, and objects that were replaced later.
_REPLACED = "FROM log WHERE until > :at AND revision <= :at AND resource = :resource AND type != 'DELETED'"
_PAST = (
    f"FROM (SELECT {_COLUMNS} {_PRESENT} AND c.revision <= :at "
    f"UNION ALL SELECT namespace, name, revision, value {_REPLACED}) c WHERE TRUE"
)
# The same queries without values, so that counting does not read objects.
_PRESENT_NAMES = "FROM current c WHERE c.resource = :resource"
_PAST_NAMES = (
    f"FROM (SELECT namespace, name {_PRESENT_NAMES} AND c.revision <= :at "
    f"UNION ALL SELECT namespace, name {_REPLACED}) c WHERE TRUE"
)
_EVERYWHERE = "AND (c.namespace, c.name) > (:after_namespace, :after_name)"
_IN_NAMESPACE = "AND c.namespace = :namespace AND c.name > :after_name"


class Snapshot:
    """The objects at one revision, and at earlier revisions that are not compacted."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.revision = last_revision(connection)

    def list(
        self,
        resource: str,
        namespace: str | None = None,
        *,
        after: Key | None = None,
        limit: int = -1,
        at: int | None = None,
    ) -> Page:
        """Return a page of objects in key order, at the revision of the snapshot or at an earlier revision."""
        if at is not None:
            if at > self.revision:
                raise FutureError(at, self.revision)
            require_not_compacted(self._connection, at)
        where = _EVERYWHERE if namespace is None else _IN_NAMESPACE
        if at is None or at == self.revision:
            columns, source, names = _COLUMNS, _PRESENT, _PRESENT_NAMES
        else:
            columns, source, names = "c.*", _PAST, _PAST_NAMES
        query = f"SELECT {columns} {source} {where} ORDER BY c.namespace, c.name LIMIT :limit"
        parameters = {
            "resource": resource,
            "namespace": namespace,
            "after_namespace": after.namespace if after else "",
            "after_name": after.name if after else "",
            "limit": limit,
            "at": at,
        }
        rows = self._connection.execute(query, parameters)
        records = [Record(Key(resource, ns, name), rv, value) for ns, name, rv, value in rows]
        remaining = 0
        if records and len(records) == limit:
            last = records[-1].key
            rest = {**parameters, "after_namespace": last.namespace, "after_name": last.name}
            (remaining,) = self._connection.execute(f"SELECT count(*) {names} {where}", rest).fetchone()
        return Page(records, at or self.revision, remaining)

    def list_revisions(self, resource: str, namespace: str | None) -> Sequence[int]:
        """Return the revisions that wrote the current objects, in key order of the objects."""
        where = "" if namespace is None else "AND c.namespace = :namespace"
        # One row, because Python gives other threads a chance to run for every row that it reads.
        (numbers,) = self._connection.execute(
            "SELECT json_group_array(revision) FROM "
            f"(SELECT c.revision {_PRESENT_NAMES} {where} ORDER BY c.namespace, c.name)",
            {"resource": resource, "namespace": namespace},
        ).fetchone()
        return msgspec.json.decode(numbers, type=list[int])


@contextlib.contextmanager
def open_snapshot(connection: sqlite3.Connection) -> Iterator[Snapshot]:
    """Start a read transaction, and end it after the block."""
    connection.execute("BEGIN")
    try:
        yield Snapshot(connection)
    finally:
        if connection.in_transaction:  # an error may have ended it
            connection.execute("ROLLBACK")
