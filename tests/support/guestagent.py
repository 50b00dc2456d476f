"""
QEMU guest agent for the demo guest, on a separate disk.

The archive contains Debian's package and the files that it needs in a guest: os-release and a shutdown command.
"""

from pathlib import Path
from typing import Final

from tests.support.debian import unpack_packages
from tests.support.programarchive import ProgramArchive

PACKAGES: Final = (
    "qemu-guest-agent",
    "libc6",
    "libglib2.0-0",
    "libnuma1",
    "libpcre2-8-0",
    "libudev1",
    "liburing2",
)
START: Final = """#!/bin/sh
tar xf /dev/vdb -C /
mkdir -p /var/run
port=$(grep -l org.qemu.guest_agent.0 /sys/class/virtio-ports/*/name)
port=${port%/name}
/usr/sbin/qemu-ga --daemonize --path /dev/${port##*/} && echo the agent runs
"""
_WANTED: Final = (
    r"usr/sbin/qemu-ga|.*/(ld-linux-x86-64|lib(c|m|glib-2\.0|gmodule-2\.0|numa|pcre2-8|udev|uring))\.so\.[\d.]+"
)
_SYSTEM: Final = b'ID=demo\nNAME="Demo"\nPRETTY_NAME="The demo guest 1"\nVERSION="1 (first)"\nVERSION_ID=1\n'
_SHUTDOWN: Final = b"""#!/bin/sh
case " $* " in *" -r "*) what=reboot ;; *) what=poweroff ;; esac
echo "the agent was asked to $what" >/dev/console
exec $what -f
"""


def build_agent(directory: Path) -> Path:
    """Build an archive with the agent; raise ToolError if packages are missing."""
    tree = unpack_packages(directory, PACKAGES, _WANTED)
    target = directory / "agent.tar"
    with ProgramArchive(target) as archive:
        archive.add_programs(tree)
        archive.add("etc/os-release", _SYSTEM)
        archive.add("sbin/shutdown", _SHUTDOWN, 0o755)
    return target
