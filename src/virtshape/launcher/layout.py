"""Names and paths of the files in a guest's directory. This module neither creates nor reads files."""

from pathlib import Path
from typing import Final

from msgspec import Struct

MAX_SOCKET_PATH_LENGTH: Final = 107
"""Maximum length of a socket path."""
DISK_IMAGE: Final = "disk.img"
"""Name of the disk image in a volume that is a directory."""
SERIAL_SOCKET: Final = "serial0.sock"
VNC_SOCKET: Final = "vnc.sock"
SERIAL_LOG: Final = "serial0.log"
_DEEPEST: Final = "/libvirt/lib/qemu/domain-1-abcdefghijklmnopqrst/monitor.sock"


class Layout(Struct, frozen=True):
    """The directory of a guest."""

    directory: Path

    @property
    def launch_request(self) -> Path:
        """The launch request."""
        return self.directory / "guest.json"

    @property
    def plan(self) -> Path:
        """The plan, which a replacement launcher process reads."""
        return self.directory / "plan.json"

    @property
    def report(self) -> Path:
        """The guest's report."""
        return self.directory / "report.json"

    @property
    def socket(self) -> Path:
        """The control socket."""
        return self.directory / "control.sock"

    @property
    def log(self) -> Path:
        """The launcher's log."""
        return self.directory / "launcher.log"

    @property
    def serial_log(self) -> Path:
        """The output of the guest's serial console."""
        return self.directory / SERIAL_LOG

    @property
    def libvirt(self) -> Path:
        """The directory for files of libvirt and QEMU."""
        return self.directory / "libvirt"

    @property
    def cache(self) -> Path:
        """Capability cache of libvirt; may be a link to a shared directory."""
        return self.libvirt / "cache"

    @property
    def tpm(self) -> Path:
        """The state of an emulated TPM; may be a link to persistent storage."""
        return self.libvirt / "lib" / "swtpm"

    def get_qemu_log(self, name: str) -> Path:
        """Return the path of QEMU's log for a domain."""
        return self.libvirt / "log" / "qemu" / f"{name}.log"

    def get_pid_file(self, name: str) -> Path:
        """Return the path of QEMU's PID file for a domain."""
        return self.libvirt / "run" / "qemu" / f"{name}.pid"


def is_short_enough(directory: Path) -> bool:
    """Return True if all socket paths in the directory are within the system's limit."""
    return len(str(directory)) + len(_DEEPEST) <= MAX_SOCKET_PATH_LENGTH
