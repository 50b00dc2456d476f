"""
PartialObjectMetadata: objects with only their metadata.

Metadata is copied as bytes and not decoded.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from virtshape.apiserver.encoding.jsonlist import join_items

GROUP = "meta.k8s.io"


class _Object(msgspec.Struct, gc=False):
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


_decode = msgspec.json.Decoder(_Object).decode


def partial_object(value: bytes, version: str = "v1") -> bytes:
    """Return the PartialObjectMetadata of an object, both as JSON text."""
    return partial_head(version) + bytes(_decode(value).metadata) + b"}"


def partial_list(values: Iterable[bytes], metadata: Mapping[str, Any], version: str = "v1") -> bytes:
    """Return the PartialObjectMetadataList of these objects; `metadata` is that of the list."""
    head = partial_head(version)
    items = [head + bytes(_decode(value).metadata) + b"}" for value in values]
    start = b'{"kind":"PartialObjectMetadataList","apiVersion":"%b/%b","metadata":%b,"items":[' % (
        GROUP.encode(),
        version.encode(),
        msgspec.json.encode(metadata),
    )
    return join_items(start, items, b"]}")


def partial_head(version: str) -> bytes:
    """Return the JSON text of a PartialObjectMetadata before its metadata; callers append the metadata and `}`."""
    return b'{"kind":"PartialObjectMetadata","apiVersion":"%b/%b","metadata":' % (GROUP.encode(), version.encode())
