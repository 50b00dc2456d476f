"""
Controllers as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.devices.controller import Controller
from virtshape.launcher.render.devices.driver import add_driver
from virtshape.launcher.render.writing import add


def render_controller(parent: Element, controller: Controller) -> None:
    """Write one controller."""
    identity = {"type": controller.kind, "index": controller.index, "model": controller.model}
    element = add(parent, "controller", identity)
    driver = {"queues": controller.queues, "iothread": controller.io_thread}
    add_driver(element, driver, iommu=controller.iommu)
