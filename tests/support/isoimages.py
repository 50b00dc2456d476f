"""Read ISO images with pycdlib, independently of the code that writes them."""

from io import BytesIO
from pathlib import Path
from typing import Literal

from pycdlib import PyCdlib

Names = Literal["rr_path", "joliet_path"]


class IsoImage:
    """An ISO image: its label, and its files by Rock Ridge (`rr_path`) or Joliet (`joliet_path`) name."""

    def __init__(self, image: Path | bytes) -> None:
        self._disc = PyCdlib()
        self._disc.open_fp(BytesIO(image if isinstance(image, bytes) else image.read_bytes()))

    @property
    def label(self) -> str:
        volume: bytes = self._disc.pvd.volume_identifier
        return volume.decode().rstrip()

    def read(self, names: Names = "rr_path") -> dict[str, bytes]:
        files = {}
        for directory, _, entries in self._disc.walk(**{names: "/"}):
            for entry in entries:
                path = f"{directory.rstrip('/')}/{entry}"
                content = BytesIO()
                self._disc.get_file_from_iso_fp(content, **{names: path})
                files[path.lstrip("/")] = content.getvalue()
        return files
