"""
Decode and encode objects, and keep the fields that are unknown to this version.

Unknown fields are encoded again, so that an update never deletes fields that only a newer server knows. An object in a
list that cannot be decoded is logged and skipped, so that it does not block the others.
"""

import logging
from collections import OrderedDict
from typing import Any, Final, TypeVar

import msgspec

from virtshape.api import codec
from virtshape.api.kinds import Kind
from virtshape.api.model import Model
from virtshape.api.problems import DecodeError
from virtshape.api.unknownfields import Unknown, decode_with_unknown, restore
from virtshape.client.protocol import Listing
from virtshape.client.resources import kind_of

MAX_CACHED: Final = 10_000
_log = logging.getLogger(__name__)

T = TypeVar("T", bound=Model)


class _Metadata(msgspec.Struct, frozen=True):
    revision: str = msgspec.field(default="", name="resourceVersion")
    continuation: str = msgspec.field(default="", name="continue")
    remaining: int | None = msgspec.field(default=None, name="remainingItemCount")


class _Answer(msgspec.Struct):
    """A list with undecoded items."""

    items: list[msgspec.Raw] | None = None
    metadata: _Metadata = _Metadata()


class _Name(msgspec.Struct, frozen=True):
    namespace: str = ""
    name: str = ""


class _Named(msgspec.Struct):
    """The fields of any object that identify it in logs."""

    metadata: _Name = _Name()


class ObjectCodec:
    """Decodes and encodes objects for one client."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Unknown] = OrderedDict()

    def decode(self, data: bytes, struct: type[T]) -> T:
        """Return the decoded object, and remember its unknown fields; raise DecodeError if it is invalid."""
        try:
            return codec.decode(data, struct)
        except DecodeError:
            item, unknown = decode_with_unknown(msgspec.json.decode(data), struct)
        self._keep(item, unknown)
        return item

    def try_decode(self, data: bytes, struct: type[T]) -> T | None:
        """Return a decoded object from a list or watch; if it is invalid, log a warning and return None."""
        try:
            return self.decode(data, struct)
        except DecodeError as error:
            metadata = _named_decoder.decode(data).metadata
            place = "/".join(filter(None, (metadata.namespace, metadata.name)))
            _log.warning("skipping %s %s: it cannot be decoded: %s", struct.__name__, place, error)
            return None

    def decode_list(self, data: bytes, struct: type[T]) -> Listing[T]:
        """Return the list without objects that cannot be decoded."""
        answer = _list_decoder.decode(data)
        head = _write_head(kind_of(struct))
        found = (self.try_decode(_complete(bytes(item), head), struct) for item in answer.items or ())
        items = [item for item in found if item is not None]
        about = answer.metadata
        return Listing(items, about.revision, about.continuation, about.remaining)

    def encode(self, item: Model) -> bytes:
        """Return the encoded object, including the unknown fields it was decoded with."""
        unknown = self._kept.get(_identify(item))
        return codec.encode(item) if unknown is None else msgspec.json.encode(restore(codec.to_tree(item), unknown))

    def _keep(self, item: Model, unknown: Unknown) -> None:
        key = _identify(item)
        if not unknown or not all(key):
            return
        self._kept[key] = unknown
        self._kept.move_to_end(key)
        if len(self._kept) > MAX_CACHED:
            self._kept.popitem(last=False)


def _identify(item: Any) -> tuple[str, str]:
    metadata = item.metadata
    return metadata.uid or "", metadata.resource_version or ""


def _write_head(kind: Kind) -> bytes:
    return msgspec.json.encode({"apiVersion": kind.api_version, "kind": kind.kind})[:-1]


def _complete(item: bytes, head: bytes) -> bytes:
    """Add apiVersion and kind to a list item, which Kubernetes omits for its built-in kinds."""
    if item.startswith((b'{"apiVersion"', b'{"kind"')):
        return item
    rest = item[1:].lstrip()
    return head + (rest if rest.startswith(b"}") else b"," + rest)


_list_decoder = msgspec.json.Decoder(_Answer)
_named_decoder = msgspec.json.Decoder(_Named)
