"""
What a launcher process is to run: an instance, where its raw material lies, and the machine it is on.

Plain facts, written by whoever starts the process and read by it once.
"""

from collections.abc import Mapping

from msgspec import Struct

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.launcher.host import Host


class LaunchRequest(Struct, frozen=True, kw_only=True):
    """One guest to run."""

    vmi: VirtualMachineInstance
    mounts: Mapping[str, str] = {}
    """Where the raw material of each volume lies, by the volume's name."""
    host: Host = Host()
    host_disk_roots: tuple[str, ...] = ()
    """Directories in which the guest may have host disks that were not found for it before."""
    assigned_cpus: tuple[int, ...] = ()
    """Those that are the guest's alone, if it is to have such."""
    state_directory: str | None = None
    """Where what outlives the instance is kept, such as a persistent TPM."""
