"""Writes files of a guest's volumes where its launcher process reads them. Only root and the guest can read them."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from virtshape.controllers.storage.mounts import Mount


def write_mounts(directory: Path, mounts: Mapping[str, Mount]) -> dict[str, str]:
    """Return the path of each volume's source; write those that consist of file contents into the directory."""
    shutil.rmtree(directory, ignore_errors=True)
    return {
        name: mount if isinstance(mount, str) else _write(directory / name, mount) for name, mount in mounts.items()
    }


def _write(directory: Path, files: Mapping[str, bytes]) -> str:
    directory.mkdir(mode=0o700, parents=True)
    for name, content in files.items():
        path = directory / name
        if not path.resolve().is_relative_to(directory.resolve()):
            raise ValueError(f"path {name} is outside of its volume")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(content)
    return str(directory)
