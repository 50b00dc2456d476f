"""
All devices of a domain as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element, SubElement

from virtshape.launcher.domain.devices.whole import Devices


def render_devices(devices: Devices) -> Element:
    """The element `devices` of a domain."""
    root = Element("devices")
    SubElement(root, "emulator").text = devices.emulator
    return root
