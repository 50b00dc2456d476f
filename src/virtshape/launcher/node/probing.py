"""Probe the capabilities of this host; the result is cached until QEMU, libvirt, the kernel or the CPU changes."""

import asyncio
import os
import platform
import shutil
import signal
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from virtshape.api.architecture import get_architecture
from virtshape.launcher.host import Host
from virtshape.launcher.node.capabilityquery import RESULT_FILE, LibvirtCapabilities
from virtshape.launcher.node.confinement import find_mount_obstacle
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.firmwares import find_firmwares
from virtshape.launcher.node.gueststate import find_last_line
from virtshape.launcher.node.hardware import (
    KVM_DEVICE,
    count_hugepages,
    list_cpus,
    list_numa_cells,
    measure_memory,
)
from virtshape.launcher.node.libvirtcapabilities import Capability, parse_capabilities
from virtshape.launcher.node.limits import may_lock_memory, may_use_realtime
from virtshape.launcher.node.process import confine_to, spawn
from virtshape.launcher.node.requirements import find_emulator
from virtshape.launcher.node.taps import may_make_taps

TIMEOUT_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.02
_FORMAT: Final = "1"
"""Version of the cached result; must be increased when the meaning of the result changes."""


class ProbeError(Exception):
    """QEMU could not be probed."""


class _CachedProbe(Struct):
    fingerprint: list[str]
    capability: Capability


async def probe_host(directories: GuestDirectories) -> Host:
    """Return the capabilities of this host that guests can use."""
    architecture = get_architecture()
    emulator = find_emulator(architecture)
    capability = await _get_capability(directories, emulator)
    account, cpus = directories.account, list_cpus()
    return Host(
        architecture=architecture,
        kvm=capability.kvm,
        emulator=emulator,
        cpus=cpus,
        numa_cells=list_numa_cells(cpus),
        realtime=may_use_realtime(),
        locked_memory=may_lock_memory(),
        memory=measure_memory(),
        hugepages=count_hugepages(),
        machine_types=capability.machine_types,
        machine_aliases=capability.machine_aliases,
        max_vcpus=capability.max_vcpus,
        cpu_models=capability.cpu_models,
        partial_cpu_models=capability.partial_cpu_models,
        cpu_features=capability.cpu_features,
        firmwares=find_firmwares(platform.machine(), capability.machine_aliases.get("q35", "virt")),
        tpm=shutil.which("swtpm") is not None and shutil.which("swtpm_setup") is not None,
        tap=may_make_taps(),
        vhost_net=account.may(Path("/dev/vhost-net"), 6),
        vsock=account.may(Path("/dev/vhost-vsock"), 6),
        sev=capability.sev,
        sev_es=capability.sev_es,
        libvirt=capability.libvirt,
        qemu=capability.qemu,
        video_models=capability.video_models,
        usb_redirection=capability.usb_redirection,
        mount_obstacle=find_mount_obstacle() if account.user != os.geteuid() else "",
    )


async def _get_capability(directories: GuestDirectories, emulator: str) -> Capability:
    """Return QEMU's capabilities from the cache, or query them if the fingerprint changed."""
    fingerprint = _compute_fingerprint(directories, emulator)
    try:
        cached = msgspec.json.decode(directories.probe_cache.read_bytes(), type=_CachedProbe)
    except (OSError, msgspec.DecodeError):
        cached = None
    if cached is not None and cached.fingerprint == fingerprint and (directories.libvirt_cache / "qemu").exists():
        return cached.capability
    capability = parse_capabilities(await _query(directories), get_architecture())
    directories.probe_cache.write_bytes(msgspec.json.encode(_CachedProbe(fingerprint, capability)))
    return capability


async def _query(directories: GuestDirectories) -> LibvirtCapabilities:
    """Query libvirt in another process."""
    layout = directories.make_for_probe()
    result = layout.directory / RESULT_FILE
    confinement = confine_to(directories.account, (str(layout.directory),))
    pid = spawn("virtshape.launcher.node.capabilityquery", layout.directory, layout.log, confinement)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await _wait_for_exit(pid)
        found = msgspec.json.decode(result.read_bytes(), type=LibvirtCapabilities)
    except TimeoutError:
        reason = f"libvirt did not respond within {TIMEOUT_SECONDS:g} seconds"
        raise ProbeError(f"probing QEMU failed: {reason}; see {layout.log}") from None
    except (OSError, msgspec.DecodeError) as error:
        reason = find_last_line(layout) or str(error)
        raise ProbeError(f"probing QEMU failed: {reason}; see {layout.log}") from None
    directories.keep_probed()
    directories.remove_for_probe()
    return found


async def _wait_for_exit(pid: int) -> None:
    """Wait until a child process has ended; kill it if the wait times out or is cancelled."""
    try:
        while os.waitpid(pid, os.WNOHANG)[0] == 0:
            await asyncio.sleep(_POLL_SECONDS)
    except asyncio.CancelledError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def _compute_fingerprint(directories: GuestDirectories, emulator: str) -> list[str]:
    """Return the values that a probe's result depends on: QEMU, libvirt, the kernel, the CPU, and access to KVM."""
    models = {
        line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith(("model name", "flags"))
    }
    return [
        _FORMAT,
        *(_describe_file(Path(path)) for path in (emulator, "/usr/share/libvirt/cpu_map/index.xml")),
        platform.release(),
        *sorted(models),
        str(directories.account.may(KVM_DEVICE, 6)),
        str(directories.account.user),
    ]


def _describe_file(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return f"{path} does not exist"
    return f"{path} {found.st_size} {found.st_mtime_ns}"
