"""Write volumes that consist of files as ISO images: config maps, secrets, tokens, downward API and sysprep."""

import os
from pathlib import Path
from typing import Final

from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.images.atomic import write_atomically
from virtshape.launcher.volumes.iso import render_iso
from virtshape.launcher.volumes.task import Task, UnusableVolumeError

LABEL: Final = "cfgdata"
SYSPREP_LABEL: Final = "unattendCD"
MAX_LABEL_LENGTH: Final = 32
MAX_BYTES: Final = 32 << 20
_ANSWER_FILES: Final = frozenset({"autounattend.xml", "unattend.xml"})
_TABLES: Final = {"slic_name_ref": "slic.bin", "msdm_name_ref": "msdm.bin"}


def prepare_config_map(task: Task) -> Source:
    """Write a ConfigMap's keys as files."""
    source = task.volume.config_map
    return _write_mounted_files(
        task, source.volume_label if source else None, optional=bool(source and source.optional)
    )


def prepare_secret(task: Task) -> Source:
    """Write a Secret's keys as files; if one of them is the ACPI table of the firmware, return that file instead."""
    table = _find_table(task)
    if table is not None:
        return Source(path=str(table), read_only=True)
    source = task.volume.secret
    return _write_mounted_files(
        task, source.volume_label if source else None, optional=bool(source and source.optional)
    )


def prepare_service_account(task: Task) -> Source:
    """Write a service account's token as a file."""
    return _write_mounted_files(task)


def prepare_downward_api(task: Task) -> Source:
    """Write downward API fields as files."""
    source = task.volume.downward_api
    return _write_mounted_files(task, source.volume_label if source else None)


def prepare_sysprep(task: Task) -> Source:
    """Write the answer files for Windows setup."""
    files = read_files(task.require_mount())
    if not any(name.lower() in _ANSWER_FILES for name in files):
        raise UnusableVolumeError("it has neither autounattend.xml nor unattend.xml")
    return write_iso(task, files, SYSPREP_LABEL)


def write_iso(task: Task, files: dict[str, bytes], label: str) -> Source:
    """Write files to the volume's ISO image."""
    image = task.name_image("iso")
    write_atomically(image, render_iso(files, label), durable=False)
    return Source(path=str(image))


def read_files(directory: Path) -> dict[str, bytes]:
    """
    Return the contents of all files below a directory, by relative path.

    Names that start with two dots, and links that lead out of the directory, are skipped.
    """
    root, files, room = directory.resolve(), {}, MAX_BYTES
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith("..")]
        for name in names:
            path = Path(place, name)
            if name.startswith("..") or not _is_inside(path, root):
                continue
            content = path.read_bytes()
            room -= len(content)
            if room < 0:
                raise UnusableVolumeError(f"its files are larger than {MAX_BYTES} bytes")
            files[str(path.relative_to(root))] = content
    return dict(sorted(files.items()))


def _write_mounted_files(task: Task, label: str | None = None, *, optional: bool = False) -> Source:
    label = label or LABEL
    if len(label) > MAX_LABEL_LENGTH or not label.isascii():
        raise UnusableVolumeError(f"must be ASCII and at most {MAX_LABEL_LENGTH} characters", "volumeLabel")
    mount = task.find_mount()
    if optional and (mount is None or not mount.exists()):
        return write_iso(task, {}, label)
    return write_iso(task, read_files(task.require_mount()), label)


def _find_table(task: Task) -> Path | None:
    """Return the file of an ACPI table if the firmware needs one from this volume, else None."""
    firmware = task.vmi.spec.domain.firmware
    acpi = firmware.acpi if firmware is not None else None
    for member, name in _TABLES.items():
        if acpi is not None and getattr(acpi, member) == task.volume.name:
            table = task.require_mount() / name
            if not table.is_file():
                raise UnusableVolumeError(f"it has no key {name} with the ACPI table")
            return table
    return None


def _is_inside(path: Path, root: Path) -> bool:
    """Return True if the path, which may be a link made by Kubernetes, leads to a file inside the directory."""
    real = path.resolve()
    return real.is_relative_to(root) and real.is_file()
