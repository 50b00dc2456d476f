"""
Tables: objects as rows of cells, for kubectl and other clients.

Only the shown fields are decoded from the objects' bytes.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.encoding.columns import list_columns
from virtshape.apiserver.encoding.columns.column import Cell, Column
from virtshape.apiserver.encoding.fieldreader import FieldReader
from virtshape.apiserver.encoding.jsonlist import join_items
from virtshape.apiserver.encoding.partial import GROUP, partial_head

DEFAULT_INCLUDE: Final = "Metadata"
INCLUDES: Final = ("None", DEFAULT_INCLUDE, "Object")
_METADATA: Final = ".metadata"
_encode = msgspec.json.Encoder().encode


def render_table(
    kind: Kind,
    values: Sequence[bytes],
    revision: str = "",
    version: str = "v1",
    include: str = "Metadata",
    metadata: Mapping[str, Any] | None = None,
    *,
    columns: bool = True,
    now: float | None = None,
) -> bytes:
    """
    Return the Table of these objects; the objects and the Table are JSON text.

    The default `revision` is the first object's revision. `include` is the option includeObject: the part of
    its object that each row contains. `metadata` is that of the list, and replaces `revision`. Without `columns`, the
    Table has no column definitions, as in all but the first Table of a watch. `now` is in seconds since 1970.
    """
    if include not in INCLUDES:
        raise StatusError(400, "BadRequest", f'unrecognized includeObject value: "{include}"')
    writer = _make_writer(kind)
    start = b'{"kind":"Table","apiVersion":"%b/%b","metadata":%b,"columnDefinitions":%b,"rows":[' % (
        GROUP.encode(),
        version.encode(),
        _encode(metadata or {"resourceVersion": revision or _read_revision(values)}),
        writer.definitions if columns else b"null",
    )
    rows = writer.write_rows(values, version, include, time.time() if now is None else now)
    return join_items(start, rows, b"]}")


class _Writer:
    """Renders objects of one kind as table rows."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        paths = list(dict.fromkeys(path for column in columns for path in column.paths))
        in_metadata = [path for path in paths if path.startswith(f"{_METADATA}.")]
        below = [path for path in paths if path not in in_metadata]
        self._object = FieldReader({_METADATA: msgspec.Raw} | dict.fromkeys(below, Any))
        self._metadata = FieldReader([path.removeprefix(_METADATA) for path in in_metadata])
        order = {path: place for place, path in enumerate([*in_metadata, *below])}
        self._columns = [
            (column.show, [order[path] for path in column.paths], column.needs_clock) for column in columns
        ]
        self.definitions = _encode([_define(column) for column in columns])

    def write_rows(self, values: Iterable[bytes], version: str, include: str, now: float) -> list[bytes]:
        head = b',"object":' + partial_head(version)
        rows = []
        for value in values:
            metadata, *fields = self._object.read(value)
            cells = _encode(self._show(self._metadata.read(metadata) + fields, now))
            if include == "Metadata":
                rows.append(b'{"cells":' + cells + head + bytes(metadata) + b"}}")
            else:
                rows.append(b'{"cells":' + cells + b',"object":' + (value if include == "Object" else b"null") + b"}")
        return rows

    def _show(self, fields: list[Any], now: float) -> list[Cell]:
        cells: list[Cell] = []
        for show, places, needs_clock in self._columns:
            if show is None:
                cells.append(fields[places[0]])
            elif needs_clock:
                cells.append(show(*[fields[place] for place in places], now))
            elif len(places) == 1:
                cells.append(show(fields[places[0]]))
            else:
                cells.append(show(*[fields[place] for place in places]))
        return cells


def _read_revision(values: Sequence[bytes]) -> str:
    return _revision.read(values[0])[0] or "" if values else ""


@cache
def _make_writer(kind: Kind) -> _Writer:
    return _Writer(list_columns(kind))


def _define(column: Column) -> JsonObject:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


_revision = FieldReader([f"{_METADATA}.resourceVersion"])
