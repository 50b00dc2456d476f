"""Read a running domain's XML for the report, without side effects."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from virtshape.launcher.report import Interface, Volume

_OURS: Final = "ua-"
"""Prefix of user-defined device aliases."""
_AGENT: Final = "org.qemu.guest_agent.0"


class Inspection(Struct, frozen=True, kw_only=True):
    """Properties of a running domain, for the report."""

    machine: str = ""
    interfaces: tuple[Interface, ...] = ()
    volumes: tuple[Volume, ...] = ()
    agent: bool = False


def inspect_domain(xml: str, addresses: Mapping[str, tuple[str, ...]]) -> Inspection:
    """Read a live domain's XML; `addresses` are the addresses that user-mode networking assigns, by interface."""
    root = ET.fromstring(xml)  # noqa: S314 - libvirt wrote it
    kind = root.find("os/type")
    return Inspection(
        machine=kind.get("machine", "") if kind is not None else "",
        interfaces=tuple(_read_interface(one, addresses) for one in root.iterfind("devices/interface")),
        volumes=tuple(_read_disk(one) for one in root.iterfind("devices/disk")),
        agent=any(
            target.get("name") == _AGENT and target.get("state") == "connected"
            for target in root.iterfind("devices/channel/target")
        ),
    )


def _read_interface(element: ET.Element, addresses: Mapping[str, tuple[str, ...]]) -> Interface:
    name = _read_name(element)
    return Interface(
        name=name,
        mac=_read_attribute(element, "mac", "address"),
        addresses=addresses.get(name, ()),
        queues=int(_read_attribute(element, "driver", "queues") or 1),
        link_up=_read_attribute(element, "link", "state") != "down",
    )


def _read_disk(element: ET.Element) -> Volume:
    return Volume(name=_read_name(element), target=_read_attribute(element, "target", "dev"))


def _read_name(element: ET.Element) -> str:
    return _read_attribute(element, "alias", "name").removeprefix(_OURS)


def _read_attribute(element: ET.Element, child: str, name: str) -> str:
    found = element.find(child)
    return found.get(name, "") if found is not None else ""
