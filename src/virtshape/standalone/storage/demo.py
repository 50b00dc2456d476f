"""The demo guest as a built-in container image, built from Debian packages on first use and never pulled."""

from typing import Final

from virtshape.launcher.images.demo.build import Flavour, ensure_demo_image, find_demo_guest
from virtshape.launcher.images.progress import Progress
from virtshape.launcher.images.reference import parse_reference
from virtshape.standalone.storage.layout import Layout

_NAMES: Final[dict[str, Flavour]] = {"virtshape.local/demo": "cloud", "virtshape.local/demo-full": "full"}
"""`demo` has virtio drivers and starts fastest; `demo-full` also has drivers for emulated hardware."""


def list_demo_files(layout: Layout) -> dict[str, str]:
    """Return the paths of the demo guests' disks by image name."""
    return {name: str(find_demo_guest(layout.images / "demo", flavour).disk) for name, flavour in _NAMES.items()}


def ensure_demo(image: str, layout: Layout, progress: Progress) -> None:
    """Build the demo guest if the image name refers to one."""
    wanted = parse_reference(image)
    for name, flavour in _NAMES.items():
        if parse_reference(name) == wanted:
            ensure_demo_image(layout.images / "demo", progress, flavour)
