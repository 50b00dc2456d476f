"""
Drivers of devices as XML.

Pure; a driver of which nothing is said is left out.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.render.writing import Attributes, add


def add_driver(parent: Element, attributes: Attributes, *, iommu: bool) -> None:
    """Say how a device is driven, if anything is to be said."""
    given = {**attributes, "iommu": "on" if iommu else None}
    if any(value is not None for value in given.values()):
        add(parent, "driver", given)
