"""Read the objects to import from files or from a cluster, in any order and with their unknown fields."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from virtshape.api.kinds import KINDS, Kind
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.api.yaml import read_documents
from virtshape.cli.connection import Session
from virtshape.cli.progress import Progress
from virtshape.cli.serverobjects import ServerObjects
from virtshape.client.resources import format_target
from virtshape.offline.files import Entry, Loaded, find_duplicates, load, take_document
from virtshape.offline.importplan import is_importable, list_claims
from virtshape.offline.sources import is_source

PAGE: Final = "500"
_PRIVATE: Final = ("ConfigMap", "Secret")
"""Kinds that are imported only from files."""


class _Page(msgspec.Struct):
    """The metadata of a list, which states whether more pages follow."""

    metadata: dict[str, Any] = {}


def read_files(paths: Sequence[str]) -> Loaded:
    """Read the objects in files; raise FilesError with all problems if a file cannot be used."""
    loaded = load(paths, is_importable)
    loaded.problems += find_duplicates(loaded.entries)
    loaded.raise_problems()
    return loaded


async def read_cluster(session: Session, namespace: str = "") -> Loaded:
    """Read the cluster-wide objects, and those in all namespaces or in one; skip claims that no object uses."""
    loaded, progress = Loaded(), Progress("objects read")
    scoped = session._replace(namespace=namespace)
    names = dict.fromkeys(kind.kind for kind in KINDS if is_source(kind))
    loaded.entries += await ServerObjects(scoped).list_sources(names)
    for kind in _list_kinds():
        await _read_kind(scoped, kind, loaded, progress)
    progress.clear()
    loaded.raise_problems()
    claims = set(_list_claims(loaded.entries))
    loaded.entries = [entry for entry in loaded.entries if not _is_unused_claim(entry, claims)]
    return loaded


def _list_kinds() -> list[Kind]:
    """Return the kinds to read, in their preferred versions; instance types and preferences are read separately."""
    kinds: dict[tuple[str, str], Kind] = {}
    for kind in KINDS:
        if is_importable(kind) and not is_source(kind) and kind.kind not in _PRIVATE:
            kinds.setdefault((kind.group, kind.kind), kind)
    return list(kinds.values())


async def _read_kind(session: Session, kind: Kind, loaded: Loaded, progress: Progress) -> None:
    """Add all objects of a kind; add none if it is not served, or if it is Namespace and the user may not list it."""
    continuation, is_last = "", False
    while not is_last:
        target = format_target(kind, session.namespace, query={"limit": PAGE, "continue": continuation})
        try:
            reply = await session.client.request("GET", target)
        except StatusError as error:
            if error.code == 404 or (error.code == 403 and kind.kind == "Namespace"):
                return
            raise
        for document in read_documents(reply.body, session.access.server):
            take_document(document, loaded, is_importable, is_named=True)
        continuation = msgspec.json.decode(reply.body, type=_Page).metadata.get("continue") or ""
        is_last = not continuation
        progress.show(len(loaded.entries))


def _list_claims(entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """Yield the namespace and name of each claim that VMs, instances and DataSources use."""
    for entry in entries:
        item, namespace = entry.object, entry.object.metadata.namespace or ""
        if item.kind == "DataSource" and item.spec.source.pvc is not None:
            yield item.spec.source.pvc.namespace or namespace, item.spec.source.pvc.name or ""
        if isinstance(item, (VirtualMachine, VirtualMachineInstance)):
            yield from ((namespace, name) for name in list_claims(item))


def _is_unused_claim(entry: Entry, claims: set[tuple[str, str]]) -> bool:
    metadata = entry.object.metadata
    place = (metadata.namespace or "", metadata.name or "")
    return entry.object.kind == "PersistentVolumeClaim" and place not in claims
