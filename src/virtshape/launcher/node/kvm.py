"""
Whether KVM truly works: its device opens, and the CPU says that it can run guests.

A device without such a CPU exists on some virtual machines, and guests die in it.
"""

import os
from pathlib import Path
from typing import Final

DEVICE: Final = Path("/dev/kvm")
_FLAGS: Final = {"vmx", "svm"}


def does_kvm_work(device: Path = DEVICE, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this process can run guests by KVM."""
    return has_virtualization(cpuinfo.read_text()) and _opens(device)


def has_virtualization(cpuinfo: str) -> bool:
    """Whether the CPUs of the kernel's list can run guests; those of other architectures do not say."""
    flags = [line.partition(":")[2].split() for line in cpuinfo.splitlines() if line.startswith("flags")]
    return all(_FLAGS & set(each) for each in flags)


def _opens(device: Path) -> bool:
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return True
