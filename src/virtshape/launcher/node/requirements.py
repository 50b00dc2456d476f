"""Find out which of the packages that guests require are missing."""

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from virtshape.api.architecture import Architecture, get_architecture

_EMULATORS: Final[dict[Architecture, tuple[str, str]]] = {
    "amd64": ("qemu-system-x86_64", "qemu-system-x86"),
    "arm64": ("qemu-system-aarch64", "qemu-system-arm"),
    "s390x": ("qemu-system-s390x", "qemu-system-misc"),
}
_DRIVERS: Final = ("/usr/lib/*/libvirt/connection-driver", "/usr/lib64/libvirt/connection-driver")
BINDING: Final = "virtshape[guests]"


def find_emulator(architecture: Architecture) -> str:
    """Return the path of QEMU, or where it would be installed."""
    program, _ = _EMULATORS[architecture]
    return shutil.which(program) or f"/usr/bin/{program}"


def get_emulator_package(architecture: Architecture) -> str:
    """Return the Debian package that contains QEMU."""
    return _EMULATORS[architecture][1]


def find_missing_packages(
    which: Callable[[str], str | None] = shutil.which,
    has_driver: Callable[[], bool] = lambda: _has_driver(),
    has_binding: Callable[[], bool] = lambda: find_spec("libvirt") is not None,
) -> list[str]:
    """Return the Debian names of missing packages, and virtshape's extra if libvirt's Python binding is missing."""
    program, package = _EMULATORS[get_architecture()]
    missing = []
    if which(program) is None:
        missing.append(package)
    if which("qemu-img") is None:
        missing.append("qemu-utils")
    if not has_driver():
        missing.append("libvirt-daemon-driver-qemu")
    if not has_binding():
        missing.append(BINDING)
    return missing


def _has_driver() -> bool:
    name = "libvirt_driver_qemu.so"
    return any(any(Path("/").glob(f"{pattern.removeprefix('/')}/{name}")) for pattern in _DRIVERS)
