"""Libvirt's embedded QEMU driver: configure it, run its event loop on a thread, open a connection."""

import contextlib
import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any, Final, NoReturn

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
"""The smallest CPU definition that makes libvirt probe QEMU."""
_log = logging.getLogger(__name__)


class DriverError(Exception):
    """Libvirt's QEMU driver cannot be used."""


def configure_driver(root: Path, *, skip_cpu_probe: bool = False) -> None:
    """
    Write the driver's settings before libvirt is imported: no daemon, no cgroups, no change of users.

    `skip_cpu_probe` makes libvirt read CPU features with one QMP command, which reports only features from CPUID.
    """
    settings = root / "etc" / "qemu.conf"
    settings.parent.mkdir(parents=True, exist_ok=True)
    text = _SETTINGS.format(user=os.geteuid(), group=os.getegid())
    settings.write_text(text + _SKIP_CPU_PROBE if skip_cpu_probe else text)
    prepare_environment()
    os.environ["HOME"] = str(root)  # libvirt writes some files there, whatever its root is


def prepare_environment() -> None:
    """Set the environment variables that libvirt reads when it is loaded."""
    os.environ["LIBVIRT_LOG_OUTPUTS"] = "3:stderr"
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
        os.environ.pop(name, None)


def open_connection(root: Path) -> Any:
    """Open the driver whose directories are under `root`; only one process may use them at a time."""
    try:
        import libvirt  # it reads the environment when it is loaded
    except ImportError as error:
        message = f"libvirt's Python binding cannot be loaded: {error}; install it with `pip install virtshape[guests]`"
        raise DriverError(message) from error
    libvirt.registerErrorHandler(_ignore, None)  # errors are raised as well
    libvirt.virEventRegisterDefaultImpl()
    threading.Thread(target=_run_events, name="libvirt", daemon=True).start()
    try:
        connection = libvirt.open(f"qemu:///embed?root={root}")
    except libvirt.libvirtError as error:
        raise DriverError(f"starting libvirt's QEMU driver failed: {error}") from error
    with contextlib.suppress(libvirt.libvirtError):  # probes QEMU now, so that starting the guest does not wait for it
        connection.compareHypervisorCPU(None, None, None, None, _MINIMAL_CPU)
    return connection


def _run_events() -> None:
    import libvirt  # as above

    while True:
        try:
            libvirt.virEventRunDefaultImpl()
        except libvirt.libvirtError as error:
            _log.error("libvirt event loop: %s", error)


def exit_process(status: int) -> NoReturn:
    """End this process at once: libvirt's threads do not survive an orderly interpreter shutdown."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _ignore(context: object, error: object) -> None:
    del context, error
