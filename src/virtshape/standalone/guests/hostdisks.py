"""
Host disks: disk images of this machine that instances use by path, below directories that the configuration allows.

Admission checks paths by the same rule; files are opened or created when a guest starts.
"""

import os.path
from pathlib import Path

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.controllers.storage.files import NotReadyError
from virtshape.launcher.volumes.hostdisk import ensure_host_disk, require_allowed
from virtshape.launcher.volumes.task import UnusableVolumeError
from virtshape.standalone.config import ConfigurationError, read_configuration


def explain_host_disk(path: str, directory: Path) -> str:
    """Return why guests may not use this file as a disk; empty if they may."""
    try:
        roots = _read_roots(directory)
        if _is_near(path, roots):
            require_allowed(path, roots)
            return ""
    except (NotReadyError, UnusableVolumeError) as error:
        return f"hostDisk {path} is not allowed: {error}"
    allowed = f"use a file below {', '.join(roots)}" if roots else "no directory is allowed"
    remedy = "an administrator can allow directories with hostDisks.roots in config.yaml"
    return f"hostDisk {path} is not allowed: {allowed}; {remedy}"


def _is_near(path: str, roots: list[str]) -> bool:
    """Return True if the path is lexically below a root; the file system is not accessed for other paths."""
    wanted = Path(os.path.normpath(path))
    return any(wanted.is_relative_to(place) for root in roots for place in (root, os.path.realpath(root)))


def find_host_disks(vmi: VirtualMachineInstance, directory: Path) -> dict[str, str]:
    """Return the image paths by volume name, and create images if requested; raise NotReadyError for unusable disks."""
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
