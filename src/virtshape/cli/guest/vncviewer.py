"""VNC viewers for `virtctl vnc`: find an installed one, and build its command line."""

import shutil
import sys
from glob import glob
from pathlib import Path
from typing import Final, NamedTuple

from virtshape.cli.errors import CommandError

_INSTALL: Final = "Install virt-viewer or a VNC viewer, or connect a viewer manually: virtctl vnc NAME --proxy-only"
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


def choose_viewer(viewer_type: str, path: str) -> Viewer:
    """Return the viewer to start; raise CommandError if none is installed."""
    if path:
        if shutil.which(path) is None:
            raise CommandError(f"{path} is not an executable program", next_step="Check --vnc-path.")
        return Viewer(viewer_type, path)
    viewer = find_viewer(viewer_type)
    if viewer is None:
        raise CommandError(f"no VNC viewer{f' of type {viewer_type}' if viewer_type else ''} found", next_step=_INSTALL)
    return viewer


def find_viewer(wanted: str = "", *, platform: str = sys.platform) -> Viewer | None:
    """Return the installed viewer of this type, or the first installed one of any type; None if there is none."""
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
