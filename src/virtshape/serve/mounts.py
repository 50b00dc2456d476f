"""
The raw material of an instance's volumes where its launcher finds it: paths, and files in the guest's directory.

Only the instance's owner may read the files. What they hold is found by somebody else.
"""

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.control.storage.files import Files, NotReadyError
from virtshape.control.storage.mounts import Mount, Mounts
from virtshape.launcher.images.placing import place_bytes

DIRECTORY: Final = "mounts"


async def gather_mounts(mounts: Mounts, vmi: VirtualMachineInstance, directory: Path) -> dict[str, str]:
    """The path of each volume's raw material, files among it written below a directory; NotReadyError as `mounts`."""
    found = await mounts.gather(vmi)
    return await asyncio.to_thread(write_mounts, directory / DIRECTORY, found)


def write_mounts(directory: Path, mounts: Mapping[str, Mount]) -> dict[str, str]:
    """Write what is files, each volume in a directory of its name; the path of each."""
    paths = {}
    for name, mount in mounts.items():
        paths[name] = mount if isinstance(mount, str) else str(directory / name)
        if not isinstance(mount, str):
            write_files(directory / name, mount)
    return paths


def write_files(directory: Path, files: Files) -> None:
    """Have a directory hold these files and no others, for its owner's eyes alone."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = {directory / name: content for name, content in files.items()}
    for path in wanted:
        if not path.resolve().is_relative_to(directory.resolve()):
            raise NotReadyError("InvalidPath", f"a file may not be outside of its volume: {path.name}")
    kept = {parent for path in wanted for parent in (path, *path.parents)}
    for path in sorted(directory.rglob("*"), reverse=True):
        if path not in kept:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path, content in wanted.items():
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place_bytes(path, content)
