"""
Decode and encode objects, and preserve the fields that are unknown to this version.

Unknown fields are encoded again, so that an update never deletes fields that only a newer server knows. A list item
that cannot be decoded is logged and skipped, so that it does not block the other items.
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


class _ListResponse(msgspec.Struct):
    """A list response whose items are not decoded yet."""

    items: list[msgspec.Raw] | None = None
    metadata: _Metadata = _Metadata()


class _Name(msgspec.Struct, frozen=True):
    namespace: str = ""
    name: str = ""


class _Named(msgspec.Struct):
    """The fields of an object of any kind that identify the object in logs."""

    metadata: _Name = _Name()


class _Managed(msgspec.Struct, frozen=True):
    fields: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="managedFields")


class _ManagedObject(msgspec.Struct):
    """The managedFields of an object of any kind, not decoded."""

    metadata: _Managed = _Managed()


class ObjectCodec:
    """Decodes and encodes objects for one client; without `with_managed_fields`, objects lack these when decoded."""

    def __init__(self, *, with_managed_fields: bool = True) -> None:
        self._kept: OrderedDict[tuple[str, str], Unknown] = OrderedDict()
        self._with_managed_fields = with_managed_fields

    def decode(self, data: bytes, struct: type[T]) -> T:
        """Return the decoded object, and remember its unknown fields; raise DecodeError if the object is invalid."""
        if not self._with_managed_fields:
            data = drop_managed_fields(data)
        try:
            return codec.decode(data, struct)
        except DecodeError:
            item, unknown = decode_with_unknown(msgspec.json.decode(data), struct)
        self._keep(item, unknown)
        return item

    def try_decode(self, data: bytes, struct: type[T]) -> T | None:
        """Return a decoded object from a list or watch; if the object is invalid, log a warning and return None."""
        try:
            return self.decode(data, struct)
        except DecodeError as error:
            metadata = _named_decoder.decode(data).metadata
            place = "/".join(filter(None, (metadata.namespace, metadata.name)))
            _log.warning("skipping %s %s: it cannot be decoded: %s", struct.__name__, place, error)
            return None

    def decode_list(self, data: bytes, struct: type[T], *, is_typed: bool = True) -> Listing[T]:
        """Return the list without objects that cannot be decoded; without `is_typed`, `struct` has no apiVersion."""
        answer = _list_decoder.decode(data)
        head = _write_head(kind_of(struct)) if is_typed else b""
        texts = (_complete(bytes(item), head) if is_typed else bytes(item) for item in answer.items or ())
        found = (self.try_decode(text, struct) for text in texts)
        items = [item for item in found if item is not None]
        about = answer.metadata
        return Listing(items, about.revision, about.continuation, about.remaining)

    def encode(self, item: Model) -> bytes:
        """Return the encoded object, including the unknown fields that it had when it was decoded."""
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


def drop_managed_fields(data: bytes) -> bytes:
    """
    Return the JSON text of an object without managedFields, whose decoding takes half of the time of a whole VM.

    The text is returned unchanged if it is not compact JSON, or if managedFields is the first field of the metadata.
    """
    try:
        found = _managed_decoder.decode(data).metadata.fields
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the caller's decoder reports the problem
        return data
    return data.replace(b',"managedFields":' + bytes(found), b"", 1) if found else data


def _identify(item: Any) -> tuple[str, str]:
    metadata = item.metadata
    return metadata.uid or "", metadata.resource_version or ""


def _write_head(kind: Kind) -> bytes:
    return msgspec.json.encode({"apiVersion": kind.api_version, "kind": kind.kind})[:-1]


def _complete(item: bytes, head: bytes) -> bytes:
    """Add apiVersion and kind, which Kubernetes omits from list items of built-in kinds."""
    if item.startswith((b'{"apiVersion"', b'{"kind"')):
        return item
    rest = item[1:].lstrip()
    return head + (rest if rest.startswith(b"}") else b"," + rest)


_list_decoder = msgspec.json.Decoder(_ListResponse)
_managed_decoder = msgspec.json.Decoder(_ManagedObject)
_named_decoder = msgspec.json.Decoder(_Named)
