"""
Configure libvirt's embedded QEMU driver, run its event loop on a thread, and open a connection.

Libvirt's probe of CPU features takes most of a guest's start time: the probe queries QEMU for hundreds of features one
by one. The probe is needed with KVM, and for features that CPUID does not report, such as Hyper-V enlightenments.
"""

import contextlib
import logging
import os
import sys
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec
from msgspec import Struct

from virtshape.launcher.threads import start_thread

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


class DriverError(Exception):
    """Libvirt's QEMU driver cannot be used."""


def configure_driver(root: Path, *, skip_cpu_probe: bool = False) -> None:
    """
    Write the driver's settings (no daemon, no cgroups, no user switching) and set environment variables for libvirt.

    Call this function before libvirt is imported. `skip_cpu_probe` makes libvirt read CPU features with one QMP
    command, which reports only features from CPUID.
    """
    settings = root / "etc" / "qemu.conf"
    settings.parent.mkdir(parents=True, exist_ok=True)
    text = _SETTINGS.format(user=os.geteuid(), group=os.getegid())
    settings.write_text(text + _SKIP_CPU_PROBE if skip_cpu_probe else text)
    prepare_environment()
    os.environ["HOME"] = str(root)  # libvirt writes some files to HOME instead of its root directory


def prepare_environment() -> None:
    """Set the environment variables that libvirt reads when it is loaded."""
    os.environ["LIBVIRT_LOG_OUTPUTS"] = "3:stderr"
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
        os.environ.pop(name, None)


def open_connection(root: Path) -> Any:
    """Open a connection to the driver with its directories under `root`, which only one process may use at a time."""
    try:
        import libvirt  # imported here because libvirt reads the environment when it is loaded
    except ImportError as error:
        message = f"libvirt's Python binding cannot be loaded: {error}; install it with `pip install virtshape[guests]`"
        raise DriverError(message) from error
    libvirt.registerErrorHandler(_ignore, None)  # do not print errors, because they are also raised
    libvirt.virEventRegisterDefaultImpl()
    start_thread(_run_events, "libvirt's event loop")
    try:
        connection = libvirt.open(f"qemu:///embed?root={root}")
    except libvirt.libvirtError as error:
        raise DriverError(f"starting libvirt's QEMU driver failed: {error}") from error
    with contextlib.suppress(libvirt.libvirtError):  # probes QEMU now, so that starting the guest does not wait for it
        connection.compareHypervisorCPU(None, None, None, None, _MINIMAL_CPU)
    return connection


def _run_events() -> None:
    import libvirt  # imported here because libvirt reads the environment when it is loaded

    while True:
        libvirt.virEventRunDefaultImpl()


def exit_process(status: int) -> NoReturn:
    """Exit without interpreter shutdown, during which libvirt's threads could crash."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _ignore(context: object, error: object) -> None:
    del context, error


class _Features(Struct):
    """The Hyper-V features in a launch request, which libvirt supports only after it has probed the CPU."""

    hyperv: Any = None
    hyperv_passthrough: Any = msgspec.field(name="hypervPassthrough", default=None)


class _Cpu(Struct):
    features: Any = None


class _Domain(Struct):
    features: _Features | None = None
    cpu: _Cpu | None = None


class _Spec(Struct):
    domain: _Domain


class _Instance(Struct):
    spec: _Spec


class _Host(Struct, frozen=True):
    kvm: bool = False


class _LaunchRequest(Struct):
    vmi: _Instance
    host: _Host = _Host()


def can_skip_cpu_probe(launch_request: bytes) -> bool:
    """Return True if libvirt may skip CPU probing: the guest is emulated and requests no CPU or Hyper-V features."""
    read = msgspec.json.decode(launch_request, type=_LaunchRequest)
    domain = read.vmi.spec.domain
    requested = (
        domain.features.hyperv if domain.features else None,
        domain.features.hyperv_passthrough if domain.features else None,
        domain.cpu.features if domain.cpu else None,
    )
    return not read.host.kvm and all(one is None for one in requested)
