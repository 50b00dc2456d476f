"""
Query libvirt for QEMU's capabilities in a separate process, because libvirt cannot be unloaded.

The process writes libvirt's XML without parsing it. The query also fills libvirt's cache, of which each launcher
process gets a copy.
"""

import logging
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from virtshape.launcher.guest.libvirtdriver import configure_driver, exit_process, open_connection
from virtshape.launcher.layout import Layout
from virtshape.launcher.node.hardware import does_kvm_work

RESULT_FILE: Final = "capabilities.json"
_MACHINES: Final = ("q35", "pc")
_log = logging.getLogger(__name__)


class LibvirtCapabilities(Struct, frozen=True, kw_only=True):
    """Libvirt's capabilities, unparsed."""

    kvm: bool
    libvirt: int
    qemu: int
    capabilities: str
    domains: tuple[str, ...]
    """Domain capabilities for each common machine type."""
    cpu: str = ""
    """The host-model CPU with all its features."""


def main(directory: Path) -> None:
    """Query libvirt, write the result to the directory, and exit."""
    root = Layout(directory).libvirt
    configure_driver(root)
    found = query(open_connection(root), kvm=does_kvm_work())
    draft = directory / f"{RESULT_FILE}.new"
    draft.write_bytes(msgspec.json.encode(found))
    draft.replace(directory / RESULT_FILE)
    exit_process(0)


def query(connection: Any, *, kvm: bool) -> LibvirtCapabilities:
    """Return the capabilities for KVM or emulated guests."""
    import libvirt  # imported here because libvirt reads its settings when it is loaded

    kind = "kvm" if kvm else "qemu"
    domains = []
    for machine in _MACHINES:
        try:
            domains.append(connection.getDomainCapabilities(None, None, machine, kind))
        except libvirt.libvirtError as error:  # other architectures have other machine types
            _log.info("machine %s is not supported: %s; skipping it", machine, error)
    if not domains:
        domains.append(connection.getDomainCapabilities(None, None, None, kind))
    return LibvirtCapabilities(
        kvm=kvm,
        libvirt=connection.getLibVersion(),
        qemu=connection.getVersion(),
        capabilities=connection.getCapabilities(),
        domains=tuple(domains),
        cpu=_expand(connection, render_host_model(domains[0]), kind),
    )


def render_host_model(domain_capabilities: str) -> str:
    """Return the host-model CPU as the XML of a `cpu` element, or an empty string."""
    mode = ET.fromstring(domain_capabilities).find("cpu/mode[@name='host-model'][@supported='yes']")  # noqa: S314
    if mode is None:
        return ""
    mode.tag = "cpu"
    mode.attrib.clear()
    return ET.tostring(mode, encoding="unicode")


def _expand(connection: Any, cpu: str, kind: str) -> str:
    import libvirt  # imported here because libvirt reads its settings when it is loaded

    if not cpu:
        return ""
    flags = libvirt.VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES
    try:
        expanded: str = connection.baselineHypervisorCPU(None, None, None, kind, [cpu], flags)
    except libvirt.libvirtError as error:
        _log.info("expanding the host-model CPU failed: %s; CPU features stay unknown", error)
        return ""
    return expanded


if __name__ == "__main__":
    main(Path(sys.argv[1]))
