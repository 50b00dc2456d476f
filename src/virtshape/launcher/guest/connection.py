"""
Libvirt's QEMU driver inside this process: its settings, its event loop on a thread, a connection.

Knows nothing of guests.
"""

import contextlib
import logging
import os
import threading
from pathlib import Path
from typing import Any, Final

_SETTINGS: Final = """\
stdio_handler = "file"
cgroup_controllers = []
security_driver = "none"
dynamic_ownership = 0
remember_owner = 0
namespaces = []
max_core = 0
user = "+{user}"
group = "+{group}"
"""
_SKIP_CPU_PROBE: Final = """\
capability_filters = [ "cpu-unavailable-features" ]
"""
_MINIMAL_CPU: Final = "<cpu><model>qemu64</model></cpu>"
"""The least that libvirt has to look QEMU up for."""
_log = logging.getLogger(__name__)


class DriverError(Exception):
    """A driver that cannot be used, and why."""


def configure_driver(root: Path, *, skip_cpu_probe: bool = False) -> None:
    """
    Write the driver's settings, before libvirt is imported: no daemon, no cgroups, no change of users.

    In skip_cpu_probe, CPU features are read in one piece and not one by one, which shows those of CPUID alone.
    """
    settings = root / "etc" / "qemu.conf"
    settings.parent.mkdir(parents=True, exist_ok=True)
    text = _SETTINGS.format(user=os.geteuid(), group=os.getegid())
    settings.write_text(text + _SKIP_CPU_PROBE if skip_cpu_probe else text)
    prepare_environment()
    os.environ["HOME"] = str(root)  # libvirt keeps a few things there, whatever its root is


def prepare_environment() -> None:
    """Set the variables that libvirt reads when it is loaded."""
    os.environ["LIBVIRT_LOG_OUTPUTS"] = "3:stderr"
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
        os.environ.pop(name, None)


def open_connection(root: Path) -> Any:
    """Open the driver whose directories are under `root`, which may be used by one process at a time."""
    try:
        import libvirt  # it reads the environment when it is loaded
    except ImportError as error:
        message = f"libvirt's Python binding cannot be used ({error}); pip install virtshape[guests] brings it"
        raise DriverError(message) from error
    libvirt.registerErrorHandler(_ignore, None)  # errors are raised as well
    libvirt.virEventRegisterDefaultImpl()
    threading.Thread(target=_run_events, name="libvirt", daemon=True).start()
    try:
        connection = libvirt.open(f"qemu:///embed?root={root}")
    except libvirt.libvirtError as error:
        raise DriverError(f"libvirt's QEMU driver does not start: {error}") from error
    with contextlib.suppress(libvirt.libvirtError):  # what QEMU can do is read now, and not when a guest is to start
        connection.compareHypervisorCPU(None, None, None, None, _MINIMAL_CPU)
    return connection


def _run_events() -> None:
    import libvirt  # as above

    while True:
        try:
            libvirt.virEventRunDefaultImpl()
        except libvirt.libvirtError as error:
            _log.error("libvirt's events: %s", error)


def _ignore(context: object, error: object) -> None:
    del context, error
