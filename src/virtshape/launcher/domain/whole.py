"""
A domain: everything that libvirt is told about a guest.

Structs only.
"""

from typing import Literal

from msgspec import Struct

from virtshape.launcher.domain.clock import Clock
from virtshape.launcher.domain.cpu import Cpu, Vcpus
from virtshape.launcher.domain.devices.whole import Devices
from virtshape.launcher.domain.features import Features
from virtshape.launcher.domain.memory import Memory, MemoryBacking
from virtshape.launcher.domain.os import Os
from virtshape.launcher.domain.security import LaunchSecurity
from virtshape.launcher.domain.sysinfo import SysInfo
from virtshape.launcher.domain.tuning import CpuTune, NumaTune


class Metadata(Struct, frozen=True, kw_only=True):
    """What is kept about the instance that a domain runs, for whoever finds the domain again."""

    uid: str
    grace_period: int | None = None
    """Seconds the guest gets to shut down."""


class Domain(Struct, frozen=True, kw_only=True):
    """A guest in libvirt's words."""

    type: Literal["kvm", "qemu"]
    name: str
    uuid: str | None = None
    title: str | None = None
    metadata: Metadata | None = None
    memory: Memory
    backing: MemoryBacking | None = None
    vcpus: Vcpus
    iothreads: int = 0
    cpu_tune: CpuTune | None = None
    numa_tune: NumaTune | None = None
    sysinfo: SysInfo | None = None
    os: Os
    features: Features
    cpu: Cpu
    clock: Clock
    on_poweroff: Literal["destroy"] = "destroy"
    on_reboot: Literal["restart", "destroy"] = "restart"
    on_crash: Literal["destroy"] = "destroy"
    devices: Devices
    security: LaunchSecurity | None = None
    arguments: tuple[str, ...] = ()
    """More words for QEMU's command line, of what libvirt has no element for."""
