"""
An ssh server for the demo guest, on a disk of its own: an archive that a script in the guest unpacks.

Made from Debian packages, with a minimal server's end of the protocol that `scp -O` speaks.
"""

import io
import re
import tarfile
from pathlib import Path
from typing import Final

from virtshape.launcher.images.demo.packages import Packages, unpack

PACKAGES: Final = ("dropbear-bin", "libc6", "libcrypt1", "libgmp10", "libtomcrypt1", "libtommath1", "zlib1g")
START: Final = """#!/bin/sh
tar xf /dev/vdb -C /
/usr/sbin/dropbear -R -E && echo the ssh server runs
"""
_WANTED: Final = re.compile(r"usr/sbin/dropbear|.*/(ld-linux-x86-64|lib(c|crypt|gmp|tomcrypt|tommath|z))\.so\.[\d.]+")
_LIBRARY: Final = re.compile(r"(.+\.so\.\d+)\.[\d.]+")
_SCP: Final = """#!/bin/sh
for path; do :; done
take() { dd bs=1 count="$1" 2>/dev/null; }
case $1 in
-t)
    printf '\\0'
    read -r head
    set -- $head
    [ -d "$path" ] && path=$path/$3
    printf '\\0'
    take "$2" >"$path"
    ;;
-f)
    take 1 >/dev/null
    echo "C0644 $(wc -c <"$path") ${path##*/}"
    take 1 >/dev/null
    cat "$path"
    ;;
esac
printf '\\0'
take 1 >/dev/null
"""


def build_sshd(directory: Path, public_key: str) -> Path:
    """An archive with an ssh server that lets the owner of a key in as root; ToolError if there are no packages."""
    directory.mkdir()
    files = Packages(directory).fetch(PACKAGES, lambda _done, _total: None)
    for name in PACKAGES:
        unpack(files[name], directory / "tree", lambda path: _WANTED.fullmatch(path) is not None)
    target = directory / "sshd.tar"
    with tarfile.open(target, "w") as archive:
        for path in sorted((directory / "tree").rglob("*")):
            if path.is_file():
                _add_program(archive, path, path.relative_to(directory / "tree"))
        _add(archive, "lib64", link="lib/x86_64-linux-gnu")
        for place in ("root", "root/.ssh", "etc/dropbear"):
            _add(archive, place)
        _add(archive, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
        _add(archive, "etc/shells", b"/bin/sh\n")
        _add(archive, "root/.ssh/authorized_keys", public_key.encode(), 0o600)
        _add(archive, "bin/scp", _SCP.encode(), 0o755)
    return target


def _add_program(archive: tarfile.TarFile, path: Path, place: Path) -> None:
    _add(archive, str(place), path.read_bytes(), 0o755)
    library = _LIBRARY.fullmatch(place.name)
    if library is not None:
        _add(archive, str(place.with_name(library[1])), link=place.name)


def _add(
    archive: tarfile.TarFile, name: str, content: bytes | None = None, mode: int = 0o644, *, link: str = ""
) -> None:
    member = tarfile.TarInfo(name)
    if link:
        member.type, member.linkname = tarfile.SYMTYPE, link
    elif content is None:
        member.type, mode = tarfile.DIRTYPE, 0o700
    else:
        member.size = len(content)
    member.mode = mode
    archive.addfile(member, io.BytesIO(content) if content is not None else None)
