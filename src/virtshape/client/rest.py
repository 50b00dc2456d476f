"""
Client for the Kubernetes REST API, over any transport.

Each method sends one request, which is repeated only if the server asks for a retry.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from importlib.metadata import version
from typing import Any, Final, Literal, TypeVar

import msgspec

from virtshape.api.codec import to_tree
from virtshape.api.model import Model
from virtshape.api.wellknown import APPLY_PATCH, INITIAL_EVENTS_END, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from virtshape.client.codec import ObjectCodec
from virtshape.client.errors import parse_status_error
from virtshape.client.protocol import EventType, Listing, OwnedObject, PatchType, Propagation, WatchEvent
from virtshape.client.resources import format_target, kind_of, metadata_of, stated_kind
from virtshape.client.transport import Call, Reply, Transport

T = TypeVar("T", bound=Model)

USER_AGENT: Final = f"virtshape/{version('virtshape')}"
MAX_TRIES: Final = 10
MAX_PAUSE: Final = 60.0
MARGIN_SECONDS: Final = 30.0
_MEDIA_TYPES: Final[Mapping[PatchType, str]] = {
    "json": JSON_PATCH,
    "merge": MERGE_PATCH,
    "strategic": STRATEGIC_PATCH,
    "apply": APPLY_PATCH,
}
_JSON: Final = "application/json"
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


LineType = EventType | Literal["ERROR"]
_LINE_HEADS: Final[Mapping[bytes, LineType]] = {
    b'{"type":"ADDED"': "ADDED",
    b'{"type":"MODIFIED"': "MODIFIED",
    b'{"type":"DELETED"': "DELETED",
    b'{"type":"BOOKMARK"': "BOOKMARK",
    b'{"type":"ERROR"': "ERROR",
}


class _Line(msgspec.Struct):
    """One line of a watch."""

    type: LineType
    object: msgspec.Raw


class _Metadata(msgspec.Struct, frozen=True):
    revision: str = msgspec.field(default="", name="resourceVersion")
    annotations: dict[str, str] = {}


class _Marked(msgspec.Struct):
    """The fields that are read from bookmarks and from responses to DELETE requests."""

    kind: str = ""
    metadata: _Metadata = _Metadata()


class RestClient:
    """
    Accesses a server through a transport; `manager` is the field manager of writes, `warn` receives warnings.

    Without `with_managed_fields`, returned objects have no managedFields, which saves time; the server preserves them
    if an update omits them.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        manager: str = "",
        warn: Callable[[str], object] = lambda _: None,
        with_managed_fields: bool = True,
    ) -> None:
        self._transport = transport
        self._manager = manager
        self._warn = warn
        self._codec = ObjectCodec(with_managed_fields=with_managed_fields)

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T:
        """Return an object; raise StatusError 404 if the object does not exist."""
        reply = await self.request("GET", format_target(kind_of(kind), namespace, name))
        return self._codec.decode(reply.body, kind)

    async def list(
        self,
        kind: type[T],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 0,
        continuation: str = "",
        revision: str = "",
        match: Literal["", "Exact", "NotOlderThan"] = "",
    ) -> Listing[T]:
        """List objects that match both selectors, in one or all namespaces; raise GoneError for compacted revisions."""
        query = {
            "labelSelector": labels,
            "fieldSelector": fields,
            "limit": str(limit) if limit else "",
            "continue": continuation,
            "resourceVersion": revision,
            "resourceVersionMatch": match,
        }
        reply = await self.request("GET", format_target(kind_of(kind), namespace, query=query))
        return self._codec.decode_list(reply.body, kind)

    def watch(
        self,
        kind: type[T],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        revision: str = "",
        bookmarks: bool = True,
        initial: bool = False,
        timeout: int = 0,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Yield changes after a revision until the server ends the watch; the caller must close the generator."""
        query = {
            "watch": "true",
            "labelSelector": labels,
            "fieldSelector": fields,
            "resourceVersion": revision,
            "resourceVersionMatch": "NotOlderThan" if initial else "",
            "sendInitialEvents": "true" if initial else "",
            "allowWatchBookmarks": "true" if bookmarks else "",
            "timeoutSeconds": str(timeout) if timeout else "",
        }
        return self._watch(format_target(kind_of(kind), namespace, query=query), kind, timeout)

    async def list_owned(self, kind: type[Model], *, limit: int = 0, continuation: str = "") -> Listing[OwnedObject]:
        """List objects in all namespaces and decode only their ownership, which takes a fraction of the time."""
        query = {"limit": str(limit) if limit else "", "continue": continuation}
        reply = await self.request("GET", format_target(kind_of(kind), query=query))
        return self._codec.decode_list(reply.body, OwnedObject, is_typed=False)

    def watch_owned(
        self, kind: type[Model], *, revision: str = "", timeout: int = 0
    ) -> AsyncGenerator[WatchEvent[OwnedObject], None]:
        """Yield changes in all namespaces as `watch` does, and decode only the ownership of objects."""
        query = {"watch": "true", "resourceVersion": revision, "allowWatchBookmarks": "true"}
        target = format_target(kind_of(kind), query={**query, "timeoutSeconds": str(timeout) if timeout else ""})
        return self._watch(target, OwnedObject, timeout)

    async def create(self, item: T, *, dry_run: bool = False) -> T:
        """Create an object; return the object as stored."""
        target = format_target(stated_kind(item), metadata_of(item).namespace or "", query=self._query(dry_run))
        reply = await self.request("POST", target, self._codec.encode(item))
        return self._codec.decode(reply.body, type(item))

    async def update(self, item: T, *, dry_run: bool = False) -> T:
        """Replace an object and return it; raise StatusError 409 if its resourceVersion is set and outdated."""
        return await self._put(item, "", dry_run)

    async def update_status(self, item: T) -> T:
        """Replace only the status of an object; return the object."""
        return await self._put(item, "status", dry_run=False)

    async def patch(
        self,
        kind: type[T],
        name: str,
        namespace: str = "",
        *,
        patch: Any,
        how: PatchType = "merge",
        subresource: str = "",
        manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> T:
        """Patch an object and return it; `patch` is plain data, or a struct for server-side apply."""
        query = self._query(dry_run) | ({"fieldManager": manager} if manager else {})
        if force:
            query["force"] = "true"
        target = format_target(kind_of(kind), namespace, name, subresource, query)
        body = msgspec.json.encode(to_tree(patch))
        reply = await self.request("PATCH", target, body, _MEDIA_TYPES[how])
        return self._codec.decode(reply.body, kind)

    async def delete(
        self,
        kind: type[T],
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        revision: str = "",
        propagation: Propagation | None = None,
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> T | None:
        """Delete an object if it has the given UID and revision; return the object if it still exists, else None."""
        preconditions = {"uid": uid, "resourceVersion": revision}
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {key: value for key, value in preconditions.items() if value} or None,
            "propagationPolicy": propagation,
            "gracePeriodSeconds": grace_seconds,
            "dryRun": ["All"] if dry_run else None,
        }
        body = msgspec.json.encode({key: value for key, value in options.items() if value is not None})
        reply = await self.request("DELETE", format_target(kind_of(kind), namespace, name), body)
        left = _marked_decoder.decode(reply.body)
        return None if left.kind == "Status" else self._codec.decode(reply.body, kind)

    async def request(
        self, method: str, target: str, body: bytes = b"", content_type: str = _JSON, *, accept: str = _JSON
    ) -> Reply:
        """Return the response to a request; raise StatusError if the server rejects it."""
        call = Call(method, target, self._headers(content_type if body else "", accept), body)
        for attempt in range(1, MAX_TRIES + 1):
            reply = await self._transport.call(call)
            pause = _find_pause(reply)
            if pause is None or attempt == MAX_TRIES:
                break
            await asyncio.sleep(pause)
        for warning in parse_warnings(reply.headers.get("warning", "")):
            self._warn(warning)
        if reply.status >= 400:
            raise parse_status_error(reply.body, reply.status)
        return reply

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def _watch(self, target: str, struct: type[T], timeout: int) -> AsyncGenerator[WatchEvent[T], None]:
        call = Call("GET", target, self._headers(""))
        async with self._transport.stream(call, idle_timeout=timeout + MARGIN_SECONDS if timeout else None) as lines:
            async for line in lines:
                yield self._read_event(line, struct)

    async def _put(self, item: T, subresource: str, dry_run: bool) -> T:
        metadata = metadata_of(item)
        kind, query = stated_kind(item), self._query(dry_run)
        target = format_target(kind, metadata.namespace or "", metadata.name or "", subresource, query)
        reply = await self.request("PUT", target, self._codec.encode(item))
        return self._codec.decode(reply.body, type(item))

    def _query(self, dry_run: bool) -> dict[str, str]:
        return {"fieldManager": self._manager, "dryRun": "All" if dry_run else ""}

    def _headers(self, content_type: str, accept: str = _JSON) -> dict[str, str]:
        headers = {"accept": accept, "user-agent": USER_AGENT}
        return {**headers, "content-type": content_type} if content_type else headers

    def _read_event(self, line: bytes, kind: type[T]) -> WatchEvent[T]:
        event_type, data = _split_line(line)
        if event_type == "ERROR":
            raise parse_status_error(data)
        if event_type == "BOOKMARK":
            about = _marked_decoder.decode(data).metadata
            return WatchEvent("BOOKMARK", about.revision, is_initial_end=INITIAL_EVENTS_END in about.annotations)
        item = self._codec.try_decode(data, kind)
        if item is None:  # skip an object that cannot be decoded, but report that the watch has reached its revision
            return WatchEvent("BOOKMARK", _marked_decoder.decode(data).metadata.revision)
        metadata = item.metadata if isinstance(item, OwnedObject) else metadata_of(item)
        return WatchEvent(event_type, metadata.resource_version or "", item)


def _split_line(line: bytes) -> tuple[LineType, bytes]:
    """Return the type and the object of a line of a watch; the object of a line in the usual form is not parsed."""
    head, _, rest = line.partition(b',"object":')
    known = _LINE_HEADS.get(head)
    if known is not None:
        return known, rest.rstrip()[:-1]
    event = _line_decoder.decode(line)
    return event.type, bytes(event.object)


def _find_pause(reply: Reply) -> float | None:
    """Return the Retry-After time in seconds; None if the server does not ask for a retry."""
    after = reply.headers.get("retry-after", "")
    if (reply.status != 429 and reply.status < 500) or not after.isdecimal():
        return None
    return min(float(after), MAX_PAUSE)


_line_decoder = msgspec.json.Decoder(_Line)
_marked_decoder = msgspec.json.Decoder(_Marked)


def parse_warnings(header: str) -> list[str]:
    """Return the messages in the Warning headers of a response."""
    return [_ESCAPE.sub(r"\1", text) for text in _WARNING.findall(header)]
