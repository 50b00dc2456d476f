"""
The demo guest as a container image that is always there: built on first use, from Debian's packages.

Two names, for two kernels; registries are never asked for them.
"""

from typing import Final

from virtshape.launcher.images.demo.build import Flavour, ensure_demo_image, find_demo_guest
from virtshape.launcher.images.progress import Progress
from virtshape.launcher.images.reference import parse_reference
from virtshape.standalone.storage.layout import Layout

_NAMES: Final[dict[str, Flavour]] = {"virtshape.local/demo": "cloud", "virtshape.local/demo-full": "full"}
"""`demo` knows virtio and starts fastest; `demo-full` knows emulated hardware too."""


def list_demo_files(layout: Layout) -> dict[str, str]:
    """Where the disks of the demo guests are, or will be, by the names of their images."""
    return {name: str(find_demo_guest(layout.images / "demo", flavour).disk) for name, flavour in _NAMES.items()}


def ensure_demo(image: str, layout: Layout, progress: Progress) -> None:
    """See to it that the demo guest is there, if it is what an image's name means."""
    wanted = parse_reference(image)
    for name, flavour in _NAMES.items():
        if parse_reference(name) == wanted:
            ensure_demo_image(layout.images / "demo", progress, flavour)
