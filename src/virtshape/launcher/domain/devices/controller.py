"""Controllers of a domain: struct and its XML."""

from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.devices.address import add_driver
from virtshape.launcher.domain.xml import add


class Controller(Struct, frozen=True, kw_only=True):
    """A controller of the guest."""

    kind: Literal["pci", "scsi", "usb", "virtio-serial"]
    model: str
    index: int = 0
    queues: int | None = None
    io_thread: int | None = None
    iommu: bool = False


def render_controller(parent: Element, controller: Controller) -> None:
    """Append a controller."""
    identity = {"type": controller.kind, "index": controller.index, "model": controller.model}
    element = add(parent, "controller", identity)
    driver = {"queues": controller.queues, "iothread": controller.io_thread}
    add_driver(element, driver, iommu=controller.iommu)
