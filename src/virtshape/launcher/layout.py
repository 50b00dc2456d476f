"""
Where things lie in the directory of one guest.

Only names; nothing is made or read here.
"""

from pathlib import Path
from typing import Final

from msgspec import Struct

LONGEST_SOCKET: Final = 107
"""Characters that the path of a socket may have."""
_DEEPEST: Final = "/libvirt/lib/qemu/domain-1-abcdefghijklmnopqrst/monitor.sock"


class Layout(Struct, frozen=True):
    """The directory of a guest."""

    directory: Path

    @property
    def launch_request(self) -> Path:
        """What is to run."""
        return self.directory / "guest.json"

    @property
    def plan(self) -> Path:
        """What became of that, for a process that takes over."""
        return self.directory / "plan.json"

    @property
    def report(self) -> Path:
        """How it is doing."""
        return self.directory / "report.json"

    @property
    def socket(self) -> Path:
        """Where requests are answered."""
        return self.directory / "control.sock"

    @property
    def log(self) -> Path:
        """What the launcher process had to say."""
        return self.directory / "launcher.log"

    @property
    def libvirt(self) -> Path:
        """Libvirt's own directories, and QEMU's."""
        return self.directory / "libvirt"

    @property
    def cache(self) -> Path:
        """What libvirt found out about QEMU; may lead to a place that guests share."""
        return self.libvirt / "cache"

    @property
    def tpm(self) -> Path:
        """What an emulated TPM holds; may lead to a place that outlives the guest."""
        return self.libvirt / "lib" / "swtpm"

    def find_qemu_log(self, name: str) -> Path:
        """What QEMU had to say about the domain of this name."""
        return self.libvirt / "log" / "qemu" / f"{name}.log"

    def find_pid_file(self, name: str) -> Path:
        """Where the process id of the domain of this name stands while it runs."""
        return self.libvirt / "run" / "qemu" / f"{name}.pid"


def is_short_enough(directory: Path) -> bool:
    """Whether the paths of all sockets in the directory are ones that the system can take."""
    return len(str(directory)) + len(_DEEPEST) <= LONGEST_SOCKET
