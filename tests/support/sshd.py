"""
An ssh server for the demo guest, on a separate disk.

The disk is built from Debian packages and also has a minimal server for the protocol of `scp -O`.
"""

from pathlib import Path
from typing import Final

from tests.support.debian import unpack_packages
from tests.support.programarchive import ProgramArchive

PACKAGES: Final = ("dropbear-bin", "libc6", "libcrypt1", "libgmp10", "libtomcrypt1", "libtommath1", "zlib1g")
START: Final = """#!/bin/sh
tar xf /dev/vdb -C /
/usr/sbin/dropbear -R -E && echo the ssh server runs
"""
_WANTED: Final = r"usr/sbin/dropbear|.*/(ld-linux-x86-64|lib(c|crypt|gmp|tomcrypt|tommath|z))\.so\.[\d.]+"
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
    """Build an archive with an ssh server that accepts a key for root; raise ToolError if packages are missing."""
    tree = unpack_packages(directory, PACKAGES, _WANTED)
    target = directory / "sshd.tar"
    with ProgramArchive(target) as archive:
        archive.add_programs(tree)
        for place in ("root", "root/.ssh", "etc/dropbear"):
            archive.make_directory(place)
        archive.add("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
        archive.add("etc/shells", b"/bin/sh\n")
        archive.add("root/.ssh/authorized_keys", public_key.encode(), 0o600)
        archive.add("bin/scp", _SCP.encode(), 0o755)
    return target
