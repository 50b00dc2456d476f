"""
Disk images of this machine that instances ask for by their paths, as far as its configuration allows.

Makes those that may be made; whom they are lent to is somebody else's business.
"""

from pathlib import Path

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.control.storage.files import NotReadyError
from virtshape.launcher.volumes.errors import UnusableVolumeError
from virtshape.launcher.volumes.hostdisk import ensure_host_disk
from virtshape.serve.machineconfig import ConfigurationError, read_configuration


def find_host_disks(vmi: VirtualMachineInstance, directory: Path) -> dict[str, str]:
    """Where the images are, by the names of their volumes; NotReadyError for one that the instance may not have."""
    volumes = enumerate(vmi.spec.volumes or ())
    wanted = [(number, one.name, one.host_disk) for number, one in volumes if one.host_disk is not None]
    roots = _read_roots(directory) if wanted else []
    found = {}
    for number, name, disk in wanted:
        at = f"spec.volumes[{number}].hostDisk"
        try:
            found[name] = str(ensure_host_disk(disk, roots))
        except UnusableVolumeError as error:
            field = f"{at}.{error.member}" if error.member else at
            raise NotReadyError("HostDiskRefused", f"{field}: {error.reason}") from error
        except OSError as error:
            raise NotReadyError("HostDiskRefused", f"{at}: {error.strerror}: {error.filename}") from error
    return found


def _read_roots(directory: Path) -> list[str]:
    try:
        host_disks = read_configuration(directory).host_disks
    except ConfigurationError as error:
        raise NotReadyError("ConfigurationInvalid", str(error)) from error
    return (host_disks.roots if host_disks is not None else None) or []
