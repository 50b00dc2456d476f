"""Find installed VNC viewers and build their command lines."""

import shutil
import sys
from glob import glob
from pathlib import Path
from typing import Final, NamedTuple

_MAC_PLACES: Final = {
    "tiger": "/Applications/TigerVNC Viewer*.app/Contents/MacOS/TigerVNC Viewer",
    "chicken": "/Applications/Chicken.app/Contents/MacOS/Chicken",
    "real": "/Applications/VNC Viewer.app/Contents/MacOS/vncviewer",
}
_NAMES: Final = {"remote-viewer": "remote-viewer", "tiger": "vncviewer", "real": "vncviewer", "chicken": "Chicken"}


class Viewer(NamedTuple):
    """A viewer program and its type."""

    type: str
    path: str

    def build_arguments(self, host: str, port: int) -> list[str]:
        """Return the command line that opens a screen."""
        match self.type:
            case "remote-viewer":
                return [self.path, f"vnc://{host}:{port}"]
            case "real":
                return [self.path, f"{host}::{port}", "-WarnUnencrypted=0", "-Shared=0", "-ShareFiles=0"]
            case "chicken":
                return [self.path, f"{host}:{port}"]
            case _:
                return [self.path, f"{host}::{port}"]


def find_viewer(wanted: str = "", *, platform: str = sys.platform) -> Viewer | None:
    """Return a viewer of this type, or the first installed one."""
    types = [wanted] if wanted else ["tiger", "chicken", "real", "remote-viewer"]
    if not wanted and platform != "darwin":
        types = ["remote-viewer", "tiger"]
    for name in types:
        path = _find_on_mac(name) if platform == "darwin" else None
        path = path or shutil.which(_NAMES[name])
        if path:
            return Viewer(name, path)
    return None


def _find_on_mac(name: str) -> str | None:
    found = sorted(glob(_MAC_PLACES[name])) if name in _MAC_PLACES else []  # noqa: PTH207 - the pattern is an absolute path
    return found[-1] if found and Path(found[-1]).exists() else None
