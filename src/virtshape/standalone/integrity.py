"""Check a database without changing it: the store's own checks, and whether each object matches its key."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from virtshape.store.store import check_file
from virtshape.store.summary import read_records

MAX_FAULTS = 20


class _Metadata(msgspec.Struct):
    name: str
    uid: str
    namespace: str = ""
    revision: str = msgspec.field(name="resourceVersion", default="")


class _Stored(msgspec.Struct):
    metadata: _Metadata


_read = msgspec.json.Decoder(_Stored).decode


def check_database(path: Path) -> list[str]:
    """Return descriptions of the problems in a database; if many objects are invalid, describe only the first."""
    if faults := check_file(path):
        return faults
    invalid = list(_list_invalid(path))
    shown = invalid[:MAX_FAULTS]
    return [*shown, f"and {len(invalid) - len(shown)} more"] if len(invalid) > len(shown) else shown


def _list_invalid(path: Path) -> Iterator[str]:
    for record in read_records(path):
        key = record.key
        where = f"{key.resource} {key.namespace}/{key.name}" if key.namespace else f"{key.resource} {key.name}"
        try:
            metadata = _read(record.value).metadata
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield f"{where} is not a valid object: {error}"
            continue
        if (metadata.namespace, metadata.name, metadata.revision) != (key.namespace, key.name, str(record.revision)):
            found = f"{metadata.namespace}/{metadata.name} at revision {metadata.revision}"
            yield f"{where} at revision {record.revision} contains {found}"
