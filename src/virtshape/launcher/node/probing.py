"""
What this machine offers to guests, found out once and remembered until something about it changes.

Looks and asks; decides nothing about guests.
"""

import asyncio
import contextlib
import os
import platform
import shutil
import signal
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from virtshape.launcher.host import Host
from virtshape.launcher.node.asking import ANSWER, Answer
from virtshape.launcher.node.capability import Capability, read_answer
from virtshape.launcher.node.confining import find_mount_obstacle
from virtshape.launcher.node.firmwares import find_firmwares
from virtshape.launcher.node.hardware import (
    count_hugepages,
    find_architecture,
    list_cpus,
    list_numa_cells,
    measure_memory,
)
from virtshape.launcher.node.kvm import DEVICE
from virtshape.launcher.node.lacks import find_emulator
from virtshape.launcher.node.limits import may_be_urgent, may_lock_memory
from virtshape.launcher.node.places import Places
from virtshape.launcher.node.remains import find_last_line
from virtshape.launcher.node.spawning import confine_to, spawn
from virtshape.launcher.node.taps import may_make_taps

PATIENCE_SECONDS: Final = 120.0
_PAUSE_SECONDS: Final = 0.02
_FORMAT: Final = "1"
"""To be raised when what is remembered changes its meaning."""


class ProbeError(Exception):
    """A machine whose QEMU says nothing, and why."""


class _Memory(Struct):
    fingerprint: list[str]
    capability: Capability


async def probe_host(places: Places) -> Host:
    """Find out what guests can have here."""
    architecture = find_architecture()
    emulator = find_emulator(architecture)
    capability = await _recall(places, emulator)
    account, cpus = places.account, list_cpus()
    return Host(
        architecture=architecture,
        kvm=capability.kvm,
        emulator=emulator,
        cpus=cpus,
        numa_cells=list_numa_cells(cpus),
        realtime=may_be_urgent(),
        locked_memory=may_lock_memory(),
        memory=measure_memory(),
        hugepages=count_hugepages(),
        machine_types=capability.machine_types,
        machine_aliases=capability.machine_aliases,
        most_vcpus=capability.most_vcpus,
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


async def _recall(places: Places, emulator: str) -> Capability:
    """What QEMU can do: as it is remembered, or asked again if anything it depends on is another."""
    fingerprint = _take_fingerprint(places, emulator)
    try:
        memory = msgspec.json.decode(places.memory.read_bytes(), type=_Memory)
    except (OSError, msgspec.DecodeError):
        memory = None
    if memory is not None and memory.fingerprint == fingerprint and (places.cache / "qemu").exists():
        return memory.capability
    capability = read_answer(await _ask(places), find_architecture())
    places.memory.write_bytes(msgspec.json.encode(_Memory(fingerprint, capability)))
    return capability


async def _ask(places: Places) -> Answer:
    """Have libvirt asked in another process."""
    layout = places.make_for_probe()
    answer = layout.directory / ANSWER
    confinement = confine_to(places.account, (str(layout.directory),))
    pid = spawn("virtshape.launcher.node.asking", layout.directory, layout.log, confinement)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while os.waitpid(pid, os.WNOHANG)[0] == 0:
                await asyncio.sleep(_PAUSE_SECONDS)
        found = msgspec.json.decode(answer.read_bytes(), type=Answer)
    except (OSError, msgspec.DecodeError) as error:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        reason = find_last_line(layout) or error
        raise ProbeError(f"asking QEMU what it can do failed: {reason}; see {layout.log}") from None
    places.keep_probed()
    places.remove_for_probe()
    return found


def _take_fingerprint(places: Places, emulator: str) -> list[str]:
    """What the answer depends on: QEMU, libvirt, the kernel, the CPU, and whether guests may use KVM."""
    models = {
        line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith(("model name", "flags"))
    }
    return [
        _FORMAT,
        *(_describe_file(Path(path)) for path in (emulator, "/usr/share/libvirt/cpu_map/index.xml")),
        platform.release(),
        *sorted(models),
        str(places.account.may(DEVICE, 6)),
        str(places.account.user),
    ]


def _describe_file(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return f"{path} is not there"
    return f"{path} {found.st_size} {found.st_mtime_ns}"
