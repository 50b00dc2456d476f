"""CPU pinning, scheduling and NUMA placement of a domain: structs and their XML."""

from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add, format_numbers


class Pin(Struct, frozen=True):
    """A vCPU or I/O thread, and the host CPUs it runs on."""

    thread: int
    cpus: tuple[int, ...]


class Schedule(Struct, frozen=True):
    """Realtime scheduling of vCPUs."""

    vcpus: str
    """List of vCPUs, for example `0-3,^1`."""
    priority: int = 1


class CpuTune(Struct, frozen=True, kw_only=True):
    """CPU pinning and scheduling of a domain's threads."""

    vcpu_pins: tuple[Pin, ...] = ()
    emulator_pin: tuple[int, ...] = ()
    """Host CPUs for QEMU's emulator threads; if empty, all host CPUs may be used."""
    iothread_pins: tuple[Pin, ...] = ()
    realtime: Schedule | None = None


class MemoryNode(Struct, frozen=True):
    """The host NUMA node that backs a guest NUMA cell."""

    cell: int
    node: int


class NumaTune(Struct, frozen=True):
    """The host NUMA nodes that back the guest's memory."""

    nodes: tuple[int, ...]
    cells: tuple[MemoryNode, ...] = ()


def render_cpu_tune(domain: Element, tune: CpuTune) -> None:
    """Append the XML element `cputune`."""
    element = add(domain, "cputune")
    for pin in tune.vcpu_pins:
        add(element, "vcpupin", {"vcpu": pin.thread, "cpuset": format_numbers(pin.cpus)})
    if tune.emulator_pin:
        add(element, "emulatorpin", {"cpuset": format_numbers(tune.emulator_pin)})
    for pin in tune.iothread_pins:
        add(element, "iothreadpin", {"iothread": pin.thread, "cpuset": format_numbers(pin.cpus)})
    if tune.realtime is not None:
        realtime = tune.realtime
        add(element, "vcpusched", {"vcpus": realtime.vcpus, "scheduler": "fifo", "priority": realtime.priority})


def render_numa_tune(domain: Element, tune: NumaTune) -> None:
    """Append the XML element `numatune`."""
    element = add(domain, "numatune")
    add(element, "memory", {"mode": "strict", "nodeset": format_numbers(tune.nodes)})
    for one in tune.cells:
        add(element, "memnode", {"cellid": one.cell, "mode": "strict", "nodeset": one.node})
