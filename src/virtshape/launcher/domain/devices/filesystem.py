"""Directories shared with a domain by virtiofs: struct and its XML."""

from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.devices.address import add_driver
from virtshape.launcher.domain.xml import add


class Filesystem(Struct, frozen=True):
    """A directory shared by virtiofs."""

    name: str
    """Name of its volume, and the mount tag in the guest."""
    socket: str
    """Socket of the virtiofs daemon."""
    iommu: bool = False


def render_filesystem(parent: Element, filesystem: Filesystem) -> None:
    """Append a shared directory."""
    element = add(parent, "filesystem", {"type": "mount"})
    add_driver(element, {"type": "virtiofs", "queue": 1024}, iommu=filesystem.iommu)
    add(element, "source", {"socket": filesystem.socket})
    add(element, "target", {"dir": filesystem.name})
