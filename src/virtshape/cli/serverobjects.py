"""
Read instance types and preferences from a server, in the newest API version that the server and this client support.

Unknown fields are preserved.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from virtshape.api.kinds import KINDS, Kind, find_kind
from virtshape.api.status import StatusError
from virtshape.api.unknownfields import decode_with_unknown
from virtshape.api.yaml import read_documents
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError
from virtshape.client.resources import format_target
from virtshape.offline.files import Entry
from virtshape.offline.sources import is_source
from virtshape.resolve.matcher import INSTANCETYPE_GROUP
from virtshape.resolve.reference import Reference

PLACE = "the server"


class ServerObjects:
    """Reads objects from the server of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._version = ""

    async def find_sources(self, name: str, kinds: Sequence[str]) -> list[Entry]:
        """
        Return the objects of these kinds with this name.

        If there are none, return all instance types and preferences that the user may list.
        """
        version = await self._find_version()
        found = [entry for kind in kinds if (entry := await self._find(_kind(version, kind), name)) is not None]
        return found or [entry for kind in _list_kinds(version) for entry in await self._list_if_allowed(kind)]

    async def list_names(self, kinds: Iterable[str]) -> list[str]:
        """Return the names of all objects of these kinds."""
        return [str(entry.object.metadata.name) for entry in await self.list_sources(kinds)]

    async def list_sources(self, kinds: Iterable[str]) -> list[Entry]:
        """Return all objects of these kinds; for namespaced kinds, only those in the session's namespace."""
        version = await self._find_version()
        return [entry for kind in kinds for entry in await self._list(_kind(version, kind))]

    async def fetch(self, reference: Reference) -> Any:
        """Return the referenced object, or None if it does not exist."""
        version = await self._find_version() if reference.group == INSTANCETYPE_GROUP else ""
        kind = next(
            kind
            for kind in KINDS
            if (kind.group, kind.kind) == (reference.group, reference.kind) and version in ("", kind.version)
        )
        entry = await self._find(kind, reference.name, reference.namespace)
        return entry.object if entry is not None else None

    async def _find_version(self) -> str:
        """Return the newest version that server and client support; a stock KubeVirt does not serve v1beta2."""
        if not self._version:
            try:
                reply = await self._session.client.request("GET", f"/apis/{INSTANCETYPE_GROUP}")
            except StatusError as error:
                if error.code != 404:
                    raise
                message = f"the server at {self._session.access.server} does not serve instance types"
                raise CommandError(message, next_step="Choose another with --context.") from error
            served = {each["version"] for each in msgspec.json.decode(reply.body)["versions"]}
            known = [kind.version for kind in KINDS if is_source(kind) and kind.version in served]
            self._version = known[0]
        return self._version

    async def _find(self, kind: Kind, name: str, namespace: str = "") -> Entry | None:
        target = format_target(kind, namespace or self._session.namespace, name)
        try:
            reply = await self._session.client.request("GET", target)
        except StatusError as error:
            if error.code == 404:
                return None
            raise
        return _read(reply.body, kind)[0]

    async def _list_if_allowed(self, kind: Kind) -> list[Entry]:
        try:
            return await self._list(kind)
        except StatusError as error:
            if error.code == 403:
                return []
            raise

    async def _list(self, kind: Kind) -> list[Entry]:
        reply = await self._session.client.request("GET", format_target(kind, self._session.namespace))
        return _read(reply.body, kind)


def _read(body: bytes, kind: Kind) -> list[Entry]:
    documents = read_documents(body, PLACE)
    return [Entry(document, *decode_with_unknown(document.tree, kind.struct)) for document in documents]


def _list_kinds(version: str) -> list[Kind]:
    return [kind for kind in KINDS if is_source(kind) and kind.version == version]


def _kind(version: str, name: str) -> Kind:
    kind = find_kind(f"{INSTANCETYPE_GROUP}/{version}", name)
    assert kind is not None  # noqa: S101 - every version has all four kinds
    return kind
