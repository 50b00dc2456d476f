"""Archives extracted into volumes: supported formats, and unsafe archives that are refused."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.archives import (
    build_archive,
    build_directory_bomb,
    build_entry_bomb,
    build_long_chain,
    build_member,
    build_pax_bomb,
)

from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.progress import ignore
from virtshape.standalone.storage import trees
from virtshape.standalone.storage.archives import unpack_archive

MIB = 1 << 20
LONG = "/".join(["d" * 100] * 20) + "/file"


def unpack(tmp_path: Path, archive: bytes, size: int = MIB) -> Path:
    (tmp_path / "tar").write_bytes(archive)
    for name in ("target", "scratch"):
        (tmp_path / name).mkdir()
    unpack_archive(tmp_path / "tar", tmp_path / "target", size, tmp_path / "scratch", ignore)
    return tmp_path / "target"


def list_files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress], ids=["tar", "gz", "xz", "bz2"])
def test_archives_of_all_compressions_are_extracted(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    content = os.urandom(3 * 512 + 7)
    archive = build_archive(build_member("./", tarfile.DIRTYPE), etc__motd=b"hello", top=content, empty=b"")
    assert list_files(unpack(tmp_path, pack(archive))) == {"etc/motd": b"hello", "top": content, "empty": b""}


@pytest.mark.parametrize("form", ["ustar", "gnu", "pax", "v7", "oldgnu", "posix"])
def test_archives_of_gnu_tar_are_extracted_unchanged(tmp_path: Path, form: str) -> None:
    source = tmp_path / "source"
    (source / "etc" / "ünicode").mkdir(parents=True)
    (source / "etc" / "ünicode" / "name").write_bytes(b"1" * 5000)
    (source / "run.sh").write_bytes(b"#!/bin/sh\n")
    (source / "run.sh").chmod(0o4777)
    os.utime(source / "run.sh", (1_000_000_000, 1_000_000_000))
    if form not in ("v7", "ustar"):
        long = source / ("d" * 100) / ("n" * 200)
        long.parent.mkdir(exist_ok=True)
        long.write_bytes(b"long")
    subprocess.run(["tar", f"--format={form}", "-C", source, "-cf", tmp_path / "packed", "."], check=True)  # noqa: S607 - as users do
    target = unpack(tmp_path, (tmp_path / "packed").read_bytes())
    assert list_files(target) == list_files(source)
    found = (target / "run.sh").stat()
    assert (found.st_mode & 0o7777, int(found.st_mtime)) == (0o755, 1_000_000_000)


def test_long_file_names_in_an_archive_are_not_truncated(tmp_path: Path) -> None:
    assert list_files(unpack(tmp_path, build_archive(build_member(LONG, size=3)))) == {LONG: bytes(3)}


def test_later_archive_entry_replaces_an_earlier_entry(tmp_path: Path) -> None:
    assert list_files(unpack(tmp_path, build_archive(build_member("a", size=9), a=b"new"))) == {"a": b"new"}


def damage(archive: bytes, at: int) -> bytes:
    return archive[:at] + bytes([archive[at] ^ 1]) + archive[at + 1 :]


def build_pax(records: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    header = build_member("x", kind, size=len(records)).tobuf()
    return header + records.ljust(-(-len(records) // 512) * 512, b"\0") + build_archive(a=b"1")


REFUSED: dict[str, tuple[bytes, str]] = {
    "a symbolic link": (build_archive(build_member("a", tarfile.SYMTYPE, "b")), "contains a symbolic link, 'a'"),
    "a symbolic link as a parent": (
        build_archive(build_member("a", tarfile.SYMTYPE, "/etc"), a__passwd=b"x"),
        "contains a symbolic link",
    ),
    "a hard link": (build_archive(build_member("a", tarfile.LNKTYPE, "b")), "contains a hard link, 'a'"),
    "a device": (build_archive(build_member("a", tarfile.BLKTYPE)), "a device or a pipe, 'a'"),
    "a pipe": (build_archive(build_member("a", tarfile.FIFOTYPE)), "a device or a pipe, 'a'"),
    "an absolute name": (build_archive(build_member("/etc/passwd")), "a path outside of the volume: '/etc/passwd'"),
    "a name with ..": (build_archive(build_member("a/../../b")), "a path outside of the volume"),
    "a long component": (build_archive(build_member("n" * 256)), "more than 255 bytes"),
    "a long name": (build_archive(build_member("n/" * 2100)), "more than 4096 bytes"),
    "a deep name": (build_archive(build_member("n/" * 200 + "n")), "more than 128 directories"),
    "a file below a file": (build_archive(build_member("a"), a__b=b"1"), "both as a file and as a directory"),
    "a file over a directory": (build_archive(build_member("a/b"), a=b"1"), "both as a file and as a directory"),
    "larger than the claim": (build_archive(build_member("a", size=MIB + 1)), "more than the 1048576 bytes"),
    "not an archive": (b"disk" * 1000, "cannot be unpacked: a header has a wrong checksum, or this is not a tar"),
    "nothing": (b"", "cannot be unpacked: it is empty"),
    "truncated header": (build_archive(a=b"1")[:300], "ends in the middle of a header"),
    "truncated file": (build_archive(a=bytes(2000))[:1000], "ends in the middle of a file"),
    "a damaged header": (damage(build_archive(a=b"1"), 3), "wrong checksum"),
    "a damaged gz": (gzip.compress(build_archive(a=b"1"))[:-9], "cannot be unpacked"),
    "zst": (b"\x28\xb5\x2f\xfd" + bytes(100), "compression format zst is not supported"),
    "a large pax header": (build_pax_bomb(4 * MIB), "headers of an entry have more than 1048576 bytes"),
    "many pax headers": (build_pax(b"9 path=x\n")[:1024] * 3000, "1048576 bytes"),
    "pax records without a length": (build_pax(b"9" * 5000), "a pax header is damaged"),
    "pax size that is not a number": (build_pax(b"12 size=-12\n"), "not a number"),
    "pax name outside the volume": (build_pax(b"19 path=../escaped\n"), "a path outside of the volume"),
    "a sparse file": (build_pax(b"22 GNU.sparse.major=1\n"), "without --sparse"),
    "many entries": (build_entry_bomb(20_000), "more than 16640 entries"),
    "many directories implied by names": (build_directory_bomb(400), "more than the 1048576 bytes of the claim"),
}


@pytest.mark.parametrize(("archive", "message"), REFUSED.values(), ids=REFUSED)
def test_unsafe_archives_are_refused_and_removed(tmp_path: Path, archive: bytes, message: str) -> None:
    with pytest.raises(RefusedImageError, match=message):
        unpack(tmp_path, archive)
    assert list((tmp_path / "target").iterdir()) == []
    assert list((tmp_path / "scratch").iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scratch", "tar", "target"]


def test_directories_implied_by_file_names_count_as_archive_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "MAX_ENTRIES", 100)
    with pytest.raises(RefusedImageError, match="more than 100 files and directories"):
        unpack(tmp_path, build_directory_bomb(1))


def test_link_chain_longer_than_path_max_writes_nothing_outside_the_volume(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    with pytest.raises(RefusedImageError, match="contains a symbolic link"):
        unpack(tmp_path, build_long_chain(victim), size=64 * MIB)
    assert not victim.exists()


def test_archives_are_extracted_with_the_python_of_debian_12(tmp_path: Path) -> None:
    python = Path("/usr/bin/python3")
    site = next(Path(one) for one in sys.path if one.endswith("site-packages"))
    version = subprocess.run([python, "--version"], capture_output=True, text=True, check=False).stdout
    if not version.startswith(f"Python {sys.version_info.major}.{sys.version_info.minor}."):
        pytest.skip("the system's Python cannot use the packages that are installed for this one")
    (tmp_path / "tar").write_bytes(build_archive(etc__motd=b"hello", compression="gz"))
    for name in ("target", "scratch"):
        (tmp_path / name).mkdir()
    program = (
        "import sys; from pathlib import Path; from virtshape.standalone.storage.archives import unpack_archive\n"
        "p = Path(sys.argv[1]); unpack_archive(p / 'tar', p / 'target', 1 << 20, p / 'scratch', lambda *_: None)"
    )
    source = str(Path(__file__).parents[4] / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(site)])}
    ran = subprocess.run(
        [python, "-c", program, tmp_path], capture_output=True, text=True, check=False, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    assert list_files(tmp_path / "target") == {"etc/motd": b"hello"}
