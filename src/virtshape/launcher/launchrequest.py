"""
Input of a launcher process: an instance, the mounts of its volumes, and the host.

The supervisor that starts the process writes this data.
"""

from collections.abc import Mapping

from msgspec import Struct

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.launcher.host import Host


class LaunchRequest(Struct, frozen=True, kw_only=True):
    """A request to run a guest."""

    vmi: VirtualMachineInstance
    mounts: Mapping[str, str] = {}
    """The path of each volume's content, by volume name."""
    host: Host = Host()
    host_disk_roots: tuple[str, ...] = ()
    """Directories that may contain host disks which are not in `mounts`."""
    assigned_cpus: tuple[int, ...] = ()
    """Dedicated CPUs of the guest; empty if it has none."""
    state_directory: str | None = None
    """Directory for state that outlives the instance, such as that of a persistent TPM."""
