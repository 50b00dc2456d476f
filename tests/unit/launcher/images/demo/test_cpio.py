"""cpio archives, parsed as the kernel's documentation describes."""

import stat

from virtshape.launcher.images.demo.cpio import directory, file, link, render_archive


def read_archive(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Return mode and content of each entry of a cpio archive, parsed as the kernel's documentation describes."""
    entries: dict[str, tuple[int, bytes]] = {}
    at = 0
    while True:
        fields = [int(archive[at + 6 + 8 * index : at + 14 + 8 * index], 16) for index in range(13)]
        assert archive[at : at + 6] == b"070701"
        name = archive[at + 110 : at + 110 + fields[11] - 1].decode()
        start = at + 110 + fields[11] + -(110 + fields[11]) % 4
        if name == "TRAILER!!!":
            return entries
        entries[name] = fields[1], archive[start : start + fields[6]]
        at = start + fields[6] + -fields[6] % 4


def test_cpio_archive_has_directories_files_and_links() -> None:
    entries = [
        directory("bin"),
        file("bin/a", b"content", 0o755),
        link("bin/b", "a"),
        file("odd", b"xyz"),
        file("e", b""),
    ]
    assert read_archive(render_archive(entries)) == {
        "bin": (stat.S_IFDIR | 0o755, b""),
        "bin/a": (stat.S_IFREG | 0o755, b"content"),
        "bin/b": (stat.S_IFLNK | 0o777, b"a"),
        "odd": (stat.S_IFREG | 0o644, b"xyz"),
        "e": (stat.S_IFREG | 0o644, b""),
    }
