"""
Archives of files for volumes that hold files: unpacked beside the volume, within its size, and moved there when whole.

Only what stays within the volume is unpacked: no links out of it, no devices.
"""

import shutil
import tarfile
from pathlib import Path

from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.progress import Progress
from virtshape.serve.storage.files import make_directory


def unpack_archive(source: Path, target: Path, size: int, scratch: Path, progress: Progress) -> None:
    """Unpack a tar file, compressed or not, into a volume of so many bytes."""
    tree = scratch / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    make_directory(tree)
    total, written = source.stat().st_size, 0
    try:
        with source.open("rb") as file, tarfile.open(fileobj=file) as archive:
            for member in archive:
                progress(min(file.tell(), total), total)
                written += member.size
                if written > size:
                    raise RefusedImageError(f"the archive holds more than the {size} bytes that the claim has")
                archive.extract(member, tree, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise RefusedImageError(f"the archive cannot be unpacked: {error}") from error
    for path in tree.iterdir():
        place = target / path.name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        path.replace(place)
