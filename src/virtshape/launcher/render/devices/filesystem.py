"""
Shared directories as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.devices.filesystem import Filesystem
from virtshape.launcher.render.devices.driver import add_driver
from virtshape.launcher.render.writing import add


def render_filesystem(parent: Element, filesystem: Filesystem) -> None:
    """Write one shared directory."""
    element = add(parent, "filesystem", {"type": "mount"})
    add_driver(element, {"type": "virtiofs", "queue": 1024}, iommu=filesystem.iommu)
    add(element, "source", {"socket": filesystem.socket})
    add(element, "target", {"dir": filesystem.name})
