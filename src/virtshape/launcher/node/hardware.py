"""Read the host's CPUs, memory, huge pages and KVM support from the kernel."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from virtshape.launcher.host import NumaCell

KVM_DEVICE: Final = Path("/dev/kvm")
SYS: Final = Path("/sys")
PROC: Final = Path("/proc")
_VIRTUALIZATION_FLAGS: Final = {"vmx", "svm"}
_UNITS: Final = ("Ki", "Mi", "Gi")


def list_cpus() -> tuple[int, ...]:
    """Return the CPUs that this process may use."""
    return tuple(sorted(os.sched_getaffinity(0)))


def list_numa_cells(cpus: tuple[int, ...], sys: Path = SYS) -> tuple[NumaCell, ...]:
    """Return the NUMA cells of these CPUs; none if the kernel does not report any."""
    cells = []
    for directory in (sys / "devices/system/node").glob("node[0-9]*"):
        near = [cpu for cpu in parse_list(_read(directory / "cpulist")) if cpu in cpus]
        cores = {tuple(one for one in _list_siblings(cpu, sys) if one in near) for cpu in near}
        if near:
            cells.append(NumaCell(int(directory.name.removeprefix("node")), tuple(sorted(cores))))
    return tuple(sorted(cells, key=lambda cell: cell.id))


def measure_memory(proc: Path = PROC, sys: Path = SYS) -> int:
    """Return the memory in bytes available to this process and its guests."""
    found = re.search(r"^MemTotal:\s+(\d+) kB", _read(proc / "meminfo"), re.MULTILINE)
    total = int(found[1]) * 1024 if found else 0
    limit = _read(sys / "fs/cgroup/memory.max").strip()
    return min(total, int(limit)) if limit.isdecimal() else total


def count_hugepages(sys: Path = SYS) -> dict[str, int]:
    """Return the number of reserved huge pages by size."""
    counted = {}
    for directory in (sys / "kernel/mm/hugepages").glob("hugepages-*kB"):
        size = int(directory.name.removeprefix("hugepages-").removesuffix("kB"))
        pages = int(_read(directory / "nr_hugepages") or 0)
        if pages:
            counted[format_size(size)] = pages
    return counted


def format_size(kibibytes: int) -> str:
    """
    Format a size in the largest unit that gives a whole number.

    >>> format_size(2048), format_size(1048576)
    ('2Mi', '1Gi')
    """
    unit = 0
    while unit < len(_UNITS) - 1 and kibibytes % 1024 == 0:
        kibibytes //= 1024
        unit += 1
    return f"{kibibytes}{_UNITS[unit]}"


def parse_list(text: str) -> Iterator[int]:
    """
    Parse a list of numbers in the kernel's format.

    >>> list(parse_list("0-2,7"))
    [0, 1, 2, 7]
    """
    for span in filter(None, text.strip().split(",")):
        first, _, last = span.partition("-")
        yield from range(int(first), int(last or first) + 1)


def does_kvm_work(device: Path = KVM_DEVICE, cpuinfo: Path = PROC / "cpuinfo") -> bool:
    """
    Return True if this process can run guests with KVM.

    Some virtual machines have /dev/kvm but a CPU without virtualization; guests would crash there.
    """
    return has_virtualization(cpuinfo.read_text()) and _opens(device)


def has_virtualization(cpuinfo: str) -> bool:
    """Return True if all CPUs in /proc/cpuinfo support virtualization, or if no flags are listed, as on arm64."""
    flags = [line.partition(":")[2].split() for line in cpuinfo.splitlines() if line.startswith("flags")]
    return all(_VIRTUALIZATION_FLAGS & set(each) for each in flags)


def _opens(device: Path) -> bool:
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _list_siblings(cpu: int, sys: Path) -> list[int]:
    """Return the CPUs of the same core, including this one."""
    return list(parse_list(_read(sys / f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))) or [cpu]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
