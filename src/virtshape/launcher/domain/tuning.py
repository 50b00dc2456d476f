"""
Where and how the threads of a domain run on the machine.

Structs only.
"""

from msgspec import Struct


class Pin(Struct, frozen=True):
    """One vCPU or I/O thread, and the machine's CPUs that it runs on."""

    thread: int
    cpus: tuple[int, ...]


class Schedule(Struct, frozen=True):
    """vCPUs that run before everything else on their CPUs."""

    vcpus: str
    """Which ones, as in `0-3,^1`."""
    priority: int = 1


class CpuTune(Struct, frozen=True, kw_only=True):
    """Where the threads of a domain run."""

    vcpu_pins: tuple[Pin, ...] = ()
    emulator_pin: tuple[int, ...] = ()
    """The machine's CPUs that QEMU's own work runs on; any when empty."""
    iothread_pins: tuple[Pin, ...] = ()
    realtime: Schedule | None = None


class MemoryNode(Struct, frozen=True):
    """Where the memory of one of the guest's NUMA nodes comes from."""

    cell: int
    node: int


class NumaTune(Struct, frozen=True):
    """Which of the machine's NUMA nodes give the memory."""

    nodes: tuple[int, ...]
    cells: tuple[MemoryNode, ...] = ()
