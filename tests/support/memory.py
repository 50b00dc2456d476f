"""Memory of a running process."""

from pathlib import Path

MIB = 1024 * 1024


def read_memory(pid: int, name: str = "VmRSS") -> int:
    """Return a size of the memory of a process in bytes: VmRSS is its resident memory, VmHWM the peak of it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
