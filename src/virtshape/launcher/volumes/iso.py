"""
Render small ISO 9660 images, with Rock Ridge names for Unix and Joliet names for Windows.

The output is deterministic. Only directories and regular files are supported.
"""

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

_SECTOR: Final = 2048
_PADDING: Final = 1 << 16
_FIRST_FREE: Final = 19
"""First sector after the system area, two volume descriptors and the terminator."""
_DATE: Final = bytes((70, 1, 1, 0, 0, 0, 0))
_NO_DATE: Final = b"0" * 16 + b"\0"
_ROCK_RIDGE: Final = b"RRIP_1991A"
_MAX_RECORD_BYTES: Final = 254
_MAX_JOLIET_LENGTH: Final = 64
_ENTRY: Final = 250
_NOT_PLAIN: Final = re.compile(r"[^A-Z0-9_]")
_NOT_JOLIET: Final = re.compile(r"[*/:;?\\\x00-\x1f]|[^\u0000-\uffff]")


def render_iso(files: Mapping[str, bytes], label: str) -> bytes:
    """Return an image that contains these files, by path, and has this volume label."""
    root = _Directory("", None)
    for path, content in files.items():
        *parents, name = path.split("/")
        place = root
        for parent in parents:
            place = place.enter(parent)
        place.files.append(_File(name, content))
    return _render(root, label)


class _File:
    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.content = content
        self.extent = 0


class _Directory:
    def __init__(self, name: str, parent: "_Directory | None") -> None:
        self.name = name
        self.parent = parent or self
        self.directories: list[_Directory] = []
        self.files: list[_File] = []

    def enter(self, name: str) -> "_Directory":
        """Return the subdirectory with this name; create it if needed."""
        for directory in self.directories:
            if directory.name == name:
                return directory
        self.directories.append(_Directory(name, self))
        return self.directories[-1]

    def walk(self) -> Iterator["_Directory"]:
        """Yield this directory and all directories below it, breadth first."""
        level = [self]
        while level:
            yield from level
            level = [below for directory in level for below in sorted(directory.directories, key=lambda one: one.name)]


def _render(root: _Directory, label: str) -> bytes:
    plain = _Tree(root, _plain_names, has_rock_ridge=True)
    joliet = _Tree(root, _joliet_names, has_rock_ridge=False)
    at = joliet.lay_out(plain.lay_out(_FIRST_FREE))
    documents = [file for directory in root.walk() for file in directory.files]
    for file in documents:
        file.extent = at
        at += _count_sectors(file.content)
    total = at + -at % (_PADDING // _SECTOR)
    descriptors = [
        _render_descriptor(1, plain, label.encode("ascii", "replace")[:32].ljust(32), b"", total),
        _render_descriptor(2, joliet, label.encode("utf-16-be")[:32].ljust(32, b"\0"), b"%/E", total),
        b"\xffCD001\x01".ljust(_SECTOR, b"\0"),
    ]
    parts = [
        bytes(16 * _SECTOR),
        *descriptors,
        plain.render(),
        joliet.render(),
        *(_fill(one.content) for one in documents),
    ]
    return b"".join(parts).ljust(total * _SECTOR, b"\0")


class _Tree:
    """A directory tree of the image, ISO 9660 or Joliet; both trees refer to the same files."""

    def __init__(
        self, root: _Directory, name: Callable[[list[str], bool], dict[str, bytes]], *, has_rock_ridge: bool
    ) -> None:
        self._has_rock_ridge = has_rock_ridge
        self._names: dict[_Directory, tuple[dict[str, bytes], dict[str, bytes]]] = {}
        for directory in root.walk():
            inner = name([one.name for one in directory.directories], True)
            self._names[directory] = inner, name([one.name for one in directory.files], False)
        self._directories = self._sort(root)
        self._extents = dict.fromkeys(self._directories, 0)
        self._sizes = dict.fromkeys(self._directories, 0)
        self._continuation_at = 0
        self._continuation = bytearray()
        self.path_table_at = 0

    @property
    def path_table_size(self) -> int:
        """Size of the path table in bytes."""
        return len(self.render_path_table("<"))

    @property
    def root(self) -> bytes:
        """The record of the root directory."""
        top = self._directories[0]
        return _render_record(b"\0", self._extents[top], self._sizes[top], is_directory=True)

    def lay_out(self, start: int) -> int:
        """Assign sectors to the tables and directories, beginning with `start`; return the first free sector."""
        self.path_table_at = start
        at = start + 2 * _count_sectors(self.render_path_table("<"))
        for directory in self._directories:
            self._sizes[directory] = len(self._render_directory(directory))
            self._extents[directory] = at
            at += self._sizes[directory] // _SECTOR
        self._continuation_at = at
        return at + _count_sectors(bytes(self._continuation))

    def render(self) -> bytes:
        """Return the path tables, in both byte orders, and the directories."""
        self._continuation.clear()
        directories = [self._render_directory(directory) for directory in self._directories]
        tables = [_fill(self.render_path_table("<")), _fill(self.render_path_table(">"))]
        return b"".join([*tables, *directories, _fill(bytes(self._continuation))])

    def render_path_table(self, order: Literal["<", ">"]) -> bytes:
        """Return the path table."""
        numbers = {directory: number for number, directory in enumerate(self._directories, 1)}
        table = bytearray()
        for directory in self._directories:
            name = self._name_of(directory)
            table += struct.pack(f"{order}BBIH", len(name), 0, self._extents[directory], numbers[directory.parent])
            table += name + bytes(len(name) % 2)
        return bytes(table)

    def _sort(self, root: _Directory) -> list[_Directory]:
        """Return the directories in path table order: breadth first, by parent, then by name."""
        level, found = [root], []
        while level:
            found += level
            level = [below for one in level for below in sorted(one.directories, key=lambda each: self._name_of(each))]
        return found

    def _name_of(self, directory: _Directory) -> bytes:
        return b"\0" if directory.parent is directory else self._names[directory.parent][0][directory.name]

    def _render_directory(self, directory: _Directory) -> bytes:
        here, above = directory, directory.parent
        is_root = here is above
        records = [
            self._record(b"\0", here, self._describe(None, is_directory=True, is_root=is_root)),
            self._record(b"\1", above, self._describe(None, is_directory=True)),
        ]
        inner, files = self._names[directory]
        entries: list[tuple[bytes, _Directory | _File]] = [(inner[one.name], one) for one in directory.directories]
        entries += [(files[one.name], one) for one in directory.files]
        for name, entry in sorted(entries, key=lambda pair: pair[0]):
            is_directory = isinstance(entry, _Directory)
            records.append(self._record(name, entry, self._describe(entry.name, is_directory, len(name))))
        return _pack(records)

    def _record(self, name: bytes, entry: "_Directory | _File", system: bytes) -> bytes:
        if isinstance(entry, _Directory):
            return _render_record(name, self._extents[entry], self._sizes[entry], is_directory=True, system=system)
        return _render_record(name, entry.extent, len(entry.content), is_directory=False, system=system)

    def _describe(self, name: str | None, is_directory: bool, taken: int = 1, *, is_root: bool = False) -> bytes:
        """Return the Rock Ridge entries of a record: mode and name."""
        if not self._has_rock_ridge:
            return b""
        mode = _both32(0o040555 if is_directory else 0o100444)
        entries = b"PX\x24\x01" + mode + _both32(1) + _both32(0) + _both32(0)
        if is_root:
            extension = b"ER" + bytes((8 + len(_ROCK_RIDGE), 1, len(_ROCK_RIDGE), 0, 0, 1)) + _ROCK_RIDGE
            return b"SP\x07\x01\xbe\xef\x00" + entries + extension
        if name is None:
            return entries
        encoded = name.encode()
        named = b"".join(
            b"NM" + bytes((5 + len(part), 1, int(start + _ENTRY < len(encoded)))) + part
            for start in range(0, len(encoded), _ENTRY)
            for part in [encoded[start : start + _ENTRY]]
        )
        room = _MAX_RECORD_BYTES - 34 - taken
        return entries + (named if len(entries + named) <= room else self._continue(named))

    def _continue(self, entries: bytes) -> bytes:
        """Write entries to the continuation area, never across sectors; return the CE entry."""
        if len(self._continuation) % _SECTOR + len(entries) > _SECTOR:
            self._continuation += bytes(-len(self._continuation) % _SECTOR)
        sector, offset = divmod(len(self._continuation), _SECTOR)
        self._continuation += entries
        return b"CE\x1c\x01" + _both32(self._continuation_at + sector) + _both32(offset) + _both32(len(entries))


def _plain_names(names: list[str], is_directory: bool) -> dict[str, bytes]:
    """Return ISO 9660 names of at most eight characters; almost no reader uses them."""
    found = _number(names, lambda name: _NOT_PLAIN.sub("_", name.upper())[:8], 8)
    return {name: short.encode() + (b"" if is_directory else b".;1") for name, short in found.items()}


def _joliet_names(names: list[str], _is_directory: bool) -> dict[str, bytes]:
    found = _number(names, lambda name: _NOT_JOLIET.sub("_", name)[:_MAX_JOLIET_LENGTH], _MAX_JOLIET_LENGTH)
    return {name: short.encode("utf-16-be") for name, short in found.items()}


def _number(names: list[str], shorten: Callable[[str], str], longest: int) -> dict[str, str]:
    """Shorten names; append numbers to duplicates."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names):
        short, number = shorten(name), 0
        while short.upper() in taken:
            number += 1
            short = shorten(name)[: longest - len(str(number))] + str(number)
        taken.add(short.upper())
        found[name] = short
    return found


def _render_descriptor(kind: int, tree: _Tree, label: bytes, escape: bytes, sectors: int) -> bytes:
    table_sectors = -(-tree.path_table_size // _SECTOR)
    parts = [
        bytes((kind,)) + b"CD001\x01\x00",
        _blank(kind, 32),
        label,
        bytes(8) + _both32(sectors) + escape.ljust(32, b"\0"),
        _both16(1) + _both16(1) + _both16(_SECTOR) + _both32(tree.path_table_size),
        struct.pack("<II", tree.path_table_at, 0) + struct.pack(">II", tree.path_table_at + table_sectors, 0),
        tree.root,
        _blank(kind, 128 * 4 + 37 * 3 - (kind == 2)) + b"\0" * (kind == 2),
        _NO_DATE * 4 + b"\x01\x00",
    ]
    return b"".join(parts).ljust(_SECTOR, b"\0")


def _blank(kind: int, length: int) -> bytes:
    """Return spaces in the descriptor's character width."""
    return b" " * length if kind == 1 else b"\0 " * (length // 2)


def _render_record(name: bytes, extent: int, size: int, *, is_directory: bool, system: bytes = b"") -> bytes:
    body = b"\0" + _both32(extent) + _both32(size) + _DATE + bytes((2 * is_directory, 0, 0)) + _both16(1)
    body += bytes((len(name),)) + name + bytes(1 - len(name) % 2) + system
    body += bytes(1 - len(body) % 2)
    return bytes((len(body) + 1,)) + body


def _pack(records: list[bytes]) -> bytes:
    """Concatenate records so that none crosses a sector boundary."""
    packed = bytearray()
    for record in records:
        if len(packed) % _SECTOR + len(record) > _SECTOR:
            packed += bytes(-len(packed) % _SECTOR)
        packed += record
    return _fill(bytes(packed))


def _fill(content: bytes) -> bytes:
    return content + bytes(-len(content) % _SECTOR)


def _count_sectors(content: bytes) -> int:
    return -(-len(content) // _SECTOR)


def _both16(number: int) -> bytes:
    return struct.pack("<H", number) + struct.pack(">H", number)


def _both32(number: int) -> bytes:
    return struct.pack("<I", number) + struct.pack(">I", number)
