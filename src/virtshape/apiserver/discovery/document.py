"""
Static documents: discovery, OpenAPI and version.

Large documents are kept compressed, because most clients accept compressed responses.
"""

import gzip
import hashlib
from typing import NamedTuple

import msgspec

_WORTH_COMPRESSING = 16 * 1024


class Document(NamedTuple):
    """A document with its media type and ETag."""

    content_type: str
    etag: str
    content: bytes
    is_compressed: bool

    @property
    def body(self) -> bytes:
        """The uncompressed document."""
        return gzip.decompress(self.content) if self.is_compressed else self.content


def make_document(body: bytes, content_type: str = "application/json", etag: str = "") -> Document:
    """Return a document with this body; the default ETag is a digest of the body."""
    etag = etag or f'"{hashlib.sha256(body).hexdigest()[:32].upper()}"'
    if len(body) < _WORTH_COMPRESSING:
        return Document(content_type, etag, body, is_compressed=False)
    return Document(content_type, etag, gzip.compress(body, 6, mtime=0), is_compressed=True)


def make_json_document(tree: object, content_type: str = "application/json", etag: str = "") -> Document:
    """Return a JSON document."""
    return make_document(msgspec.json.encode(tree), content_type, etag)
