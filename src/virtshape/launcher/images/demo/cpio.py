"""
Render cpio archives in the "newc" format, which the kernel unpacks as its initramfs.

Archives are reproducible: all entries belong to root and have no timestamp.
"""

import stat
from collections.abc import Iterable
from typing import NamedTuple


class Entry(NamedTuple):
    """A file, directory or link; directories must precede their contents."""

    name: str
    mode: int
    content: bytes = b""


def directory(name: str) -> Entry:
    """Return an entry for a directory."""
    return Entry(name, stat.S_IFDIR | 0o755)


def file(name: str, content: bytes, mode: int = 0o644) -> Entry:
    """Return an entry for a regular file."""
    return Entry(name, stat.S_IFREG | mode, content)


def link(name: str, target: str) -> Entry:
    """Return an entry for a symbolic link."""
    return Entry(name, stat.S_IFLNK | 0o777, target.encode())


def render_archive(entries: Iterable[Entry]) -> bytes:
    """Return the archive of these entries."""
    parts = [_render(number, entry) for number, entry in enumerate(entries, 1)]
    return b"".join([*parts, _render(0, Entry("TRAILER!!!", 0))])


def _render(number: int, entry: Entry) -> bytes:
    name = entry.name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (number, entry.mode, 0, 0, links, 0, len(entry.content), 0, 0, 0, 0, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _pad(header + name) + _pad(entry.content)


def _pad(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)
