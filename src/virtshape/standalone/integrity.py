"""
A whole check of a database: what the store knows of its file, and whether each object is what its key says.

Only reads.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from virtshape.store.store import check_file
from virtshape.store.summary import read_records

MOST_FAULTS = 20


class _Metadata(msgspec.Struct):
    name: str
    uid: str
    namespace: str = ""
    revision: str = msgspec.field(name="resourceVersion", default="")


class _Stored(msgspec.Struct):
    metadata: _Metadata


_read = msgspec.json.Decoder(_Stored).decode


def check_database(path: Path) -> list[str]:
    """What is wrong with a database, in words; of many broken objects only the first."""
    if faults := check_file(path):
        return faults
    broken = list(_find_broken(path))
    shown = broken[:MOST_FAULTS]
    return [*shown, f"and {len(broken) - len(shown)} more"] if len(broken) > len(shown) else shown


def _find_broken(path: Path) -> Iterator[str]:
    for record in read_records(path):
        key = record.key
        where = f"{key.resource} {key.namespace}/{key.name}" if key.namespace else f"{key.resource} {key.name}"
        try:
            said = _read(record.value).metadata
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield f"{where} is no object: {error}"
            continue
        if (said.namespace, said.name, said.revision) != (key.namespace, key.name, str(record.revision)):
            yield f"{where} at revision {record.revision} says it is {said.namespace}/{said.name} at {said.revision}"
