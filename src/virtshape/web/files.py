"""
The files of the web console.

Only files found in the directory are served, so a path cannot lead outside it. Contents are read and compressed on
first use and kept in memory. Files below `assets/` have a hash in their names and never change.
"""

import gzip
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from virtshape.apiserver.message import PLAIN_TEXT, Request, Response

INDEX: Final = "index.html"
ASSETS: Final = "assets/"
FOREVER: Final = "public, max-age=31536000, immutable"
REVALIDATE: Final = "no-cache"

_CONTENT_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": PLAIN_TEXT,
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_COMPRESSED_ALREADY: Final = frozenset({".ico", ".png", ".woff2"})
BUILT_FILES: Final = Path(__file__).with_name("static")


class _File(NamedTuple):
    content: bytes
    compressed: bytes | None
    content_type: str
    etag: str


class ConsoleFiles:
    """The files in a directory, by their paths relative to the directory."""

    def __init__(self, directory: Path = BUILT_FILES) -> None:
        self._directory = directory
        self._read: dict[str, _File] = {}

    @cached_property
    def names(self) -> frozenset[str]:
        """The paths of all files."""
        found = (path for path in self._directory.rglob("*") if path.is_file())
        return frozenset(path.relative_to(self._directory).as_posix() for path in found)

    def answer(self, request: Request, name: str) -> Response | None:
        """Return the file at this path, or else the index page; None if an asset or the index page does not exist."""
        if name not in self.names:
            if name.startswith(ASSETS) or INDEX not in self.names:
                return None
            name = INDEX
        file = self._read.get(name) or self._load(name)
        headers = [
            ("cache-control", FOREVER if name.startswith(ASSETS) else REVALIDATE),
            ("etag", file.etag),
            ("vary", "Accept-Encoding"),
        ]
        if _has_etag(request.headers.get("if-none-match", ""), file.etag):
            return Response(304, b"", "", tuple(headers))
        body = file.content
        if file.compressed is not None and accepts_gzip(request.headers.get("accept-encoding", "")):
            body = file.compressed
            headers.append(("content-encoding", "gzip"))
        return Response(200, body, file.content_type, tuple(headers))

    def _load(self, name: str) -> _File:
        path = self._directory / name
        content = path.read_bytes()
        compressed = None if path.suffix in _COMPRESSED_ALREADY else gzip.compress(content, 9, mtime=0)
        if compressed is not None and len(compressed) >= len(content):
            compressed = None
        content_type = _CONTENT_TYPES.get(path.suffix, "application/octet-stream")
        # A weak ETag, because the compressed and the uncompressed content have the same ETag.
        etag = f'W/"{sha256(content).hexdigest()[:32]}"'
        self._read[name] = _File(content, compressed, content_type, etag)
        return self._read[name]


def accepts_gzip(header: str) -> bool:
    """Return True if an Accept-Encoding header lists gzip with a weight above zero."""
    for offer in header.lower().split(","):
        coding, _, weight = offer.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _has_etag(header: str, etag: str) -> bool:
    offered = (tag.strip().removeprefix("W/") for tag in header.split(","))
    return header.strip() == "*" or etag.removeprefix("W/") in offered
