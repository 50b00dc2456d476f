"""Collect facts about the machine for the checks."""

import errno
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from virtshape.api.architecture import get_architecture
from virtshape.launcher.netns.probe import check_isolation
from virtshape.launcher.node.account import Account, choose_account
from virtshape.launcher.node.confinement import find_mount_obstacle
from virtshape.launcher.node.firmwares import find_firmwares
from virtshape.launcher.node.hardware import KVM_DEVICE, has_virtualization
from virtshape.launcher.node.requirements import BINDING, find_emulator, find_missing_packages, get_emulator_package
from virtshape.standalone.serveraccess import DEFAULT_HOST, DEFAULT_PORT
from virtshape.store.lock import find_holder

Kvm = Literal["works", "no device", "no CPU support", "denied"]

BUILD_PACKAGES: Final = ("libvirt-dev", "pkg-config", "gcc", "libc6-dev", "python3-dev")
"""Debian packages that building libvirt's Python binding needs."""
_SECONDS: Final = 20.0
_VERSION: Final = re.compile(r"v?(\d+\.\d+[.\d]*)")


class Facts(Struct, frozen=True, kw_only=True):
    """Facts about a machine; the defaults describe one on which everything works."""

    python: tuple[int, int, int] = (3, 11, 2)
    user: int = 1000
    """The current user, who would run the server."""
    guest_user: int = 1000
    """The user that guests run as."""
    directory: str = "/var/lib/virtshape"
    directory_owner: int | None = 1000
    """The user that owns the directory; None if it does not exist yet."""
    directory_mode: int = 0o700
    directory_writable: bool = True
    """Whether files can be created in the directory or, if it does not exist yet, the directory itself."""
    free_bytes: int = 100 << 30
    host: str = DEFAULT_HOST
    port: int | None = DEFAULT_PORT
    """The port to check; None to skip the check."""
    port_error: str = ""
    server_pid: int | None = None
    """The process id of the server that uses the directory, if one runs."""
    kubectl: str | None = ""
    """The version of kubectl; None if kubectl is not installed, empty if it was not run."""
    missing_packages: tuple[str, ...] = ()
    """Missing packages that guests need."""
    qemu_package: str = "qemu-system-x86"
    qemu_version: str | None = None
    libvirt_version: str | None = None
    binding_version: str | None = None
    binding_error: str = ""
    missing_build_packages: tuple[str, ...] = ()
    """Missing packages for building libvirt's Python binding."""
    checkout: str = ""
    """The source checkout that this process runs from; empty if the checkout's .venv has no uv."""
    kvm: Kvm = "works"
    mount_obstacle: str = ""
    """Why guests have no mount namespace; empty if they have one, or run as the current user."""
    network_obstacle: str = ""
    """Why guests have no network namespaces; empty if they have them."""
    uefi: bool = True
    tpm: bool = True


def gather_facts(directory: Path, host: str, port: int | None, *, versions: bool, probes: bool) -> Facts:
    """
    Return facts about this machine.

    `versions` runs programs to get their versions; `probes` loads libvirt's binding and creates a network namespace.
    """
    account, user = choose_account(), os.geteuid()
    missing_packages = tuple(find_missing_packages())
    emulator = find_emulator(get_architecture())
    found = directory.stat() if directory.exists() else None
    holder = find_holder(directory) if found is not None and os.access(directory, os.X_OK) else None
    binding_missing = BINDING in missing_packages
    with ThreadPoolExecutor() as pool:  # parallel, because each probe waits for a process
        binding = pool.submit(_try_binding) if probes and not binding_missing else None
        network = pool.submit(check_isolation, account) if probes else None
    binding_error = binding.result() if binding is not None else ""
    return Facts(
        python=sys.version_info[:3],
        user=user,
        guest_user=account.user,
        directory=str(directory),
        directory_owner=found.st_uid if found is not None else None,
        directory_mode=found.st_mode & 0o7777 if found is not None else 0o700,
        directory_writable=os.access(_get_existing(directory), os.W_OK | os.X_OK),
        free_bytes=shutil.disk_usage(_get_existing(directory)).free,
        host=host,
        port=port,
        port_error=_try_port(host, port) if port is not None and holder is None else "",
        server_pid=holder,
        kubectl=_find_kubectl(versions=versions),
        missing_packages=missing_packages,
        qemu_package=get_emulator_package(get_architecture()),
        qemu_version=_get_version([emulator, "--version"]) if versions else None,
        libvirt_version=_read_libvirt_version(),
        binding_version=None if binding_missing else _find_binding_version(),
        binding_error=binding_error,
        missing_build_packages=_list_missing_build_packages() if binding_missing or binding_error else (),
        checkout=_find_checkout(),
        kvm=check_kvm(account),
        mount_obstacle=find_mount_obstacle() if account.user != user else "",
        network_obstacle=network.result().reason if network is not None else "",
        uefi=bool(find_firmwares(platform.machine(), "pc-q35-7.2" if get_architecture() == "amd64" else "virt")),
        tpm=shutil.which("swtpm") is not None and shutil.which("swtpm_setup") is not None,
    )


def check_kvm(account: Account, device: Path = KVM_DEVICE, cpuinfo: Path = Path("/proc/cpuinfo")) -> Kvm:
    """Return `works` if guests that run as this account can use KVM, otherwise the reason why they cannot."""
    if not has_virtualization(cpuinfo.read_text()):
        return "no CPU support"
    if not device.exists():
        return "no device"
    return "works" if account.may(device, 6) else "denied"


def _get_existing(directory: Path) -> Path:
    """Return the directory, or the nearest directory above it that exists."""
    return next(path for path in (directory, *directory.parents) if path.exists())


def _try_port(host: str, port: int) -> str:
    """Return why a server cannot listen on the address; empty if it can."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        known = error.errno is not None and error.errno in errno.errorcode
        return os.strerror(error.errno) if known and error.errno is not None else str(error)
    return ""


def _try_binding() -> str:
    """Try to load libvirt's binding in a subprocess; return why this fails, or an empty string if it succeeds."""
    ran = subprocess.run(
        [sys.executable, "-c", "import libvirt"], capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    return ran.stderr.strip().splitlines()[-1] if ran.returncode and ran.stderr.strip() else ""


def _get_version(command: list[str]) -> str | None:
    """Return the version that a program prints; None if it does not exist or prints none."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(ran.stdout)
    return found[1] if found else None


def _find_kubectl(*, versions: bool) -> str | None:
    program = shutil.which("kubectl")
    if program is None:
        return None
    return (_get_version([program, "version", "--client"]) or "") if versions else ""


def _read_libvirt_version() -> str | None:
    """Return the version of libvirt's library from its file name: libvirt.so.0.9000.0 is 9.0.0."""
    for path in (*Path("/usr/lib").glob("*/libvirt.so.0"), Path("/usr/lib64/libvirt.so.0")):
        found = re.search(r"\.so\.0\.(\d+)\.", path.resolve().name)
        if found:
            number = int(found[1])
            return f"{number // 1000}.{number % 1000}.0"
    return None


def _find_binding_version() -> str | None:
    try:
        return metadata.version("libvirt-python")
    except metadata.PackageNotFoundError:
        return None


def _list_missing_build_packages() -> tuple[str, ...]:
    query = shutil.which("dpkg-query")
    if query is None:
        return BUILD_PACKAGES
    return tuple(name for name in BUILD_PACKAGES if not _is_installed(query, name))


def _is_installed(query: str, package: str) -> bool:
    command = [query, "-W", "-f", "${Status}", package]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)  # noqa: S603
    return "ok installed" in ran.stdout


def _find_checkout() -> str:
    """Return the source checkout that `make up` has set up; empty for other installations."""
    checkout = Path(__file__).parents[4]
    return str(checkout) if (checkout / ".venv" / "bin" / "uv").exists() and (checkout / "uv.lock").exists() else ""
