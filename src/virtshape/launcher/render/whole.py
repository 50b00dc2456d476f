"""
A whole domain as XML.

Pure; writes what is there and decides nothing.
"""

from typing import Final
from xml.etree.ElementTree import Element, indent, tostring

from virtshape.launcher.domain.whole import Domain, Metadata
from virtshape.launcher.render.clock import render_clock
from virtshape.launcher.render.cpu import render_cpu, render_vcpus
from virtshape.launcher.render.devices.whole import render_devices
from virtshape.launcher.render.features import render_features
from virtshape.launcher.render.memory import render_backing, render_memory
from virtshape.launcher.render.os import render_os, render_sysinfo
from virtshape.launcher.render.security import render_security
from virtshape.launcher.render.tuning import render_cpu_tune, render_numa_tune
from virtshape.launcher.render.writing import add

METADATA_NAMESPACE: Final = "http://kubevirt.io"
QEMU_NAMESPACE: Final = "http://libvirt.org/schemas/domain/qemu/1.0"


def render_domain_xml(domain: Domain) -> str:
    """The text that libvirt makes a guest from."""
    root = Element("domain", {"type": domain.type})
    _render_identity(root, domain)
    _render_size(root, domain)
    if domain.sysinfo is not None:
        render_sysinfo(root, domain.sysinfo)
    render_os(root, domain.os)
    render_features(root, domain.features)
    render_cpu(root, domain.cpu)
    render_clock(root, domain.clock)
    add(root, "on_poweroff", text=domain.on_poweroff)
    add(root, "on_reboot", text=domain.on_reboot)
    add(root, "on_crash", text=domain.on_crash)
    root.append(render_devices(domain.devices))
    if domain.security is not None:
        render_security(root, domain.security)
    if domain.arguments:
        _render_arguments(root, domain.arguments)
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def _render_identity(root: Element, domain: Domain) -> None:
    add(root, "name", text=domain.name)
    if domain.uuid is not None:
        add(root, "uuid", text=domain.uuid)
    if domain.title is not None:
        add(root, "title", text=domain.title)
    if domain.metadata is not None:
        _render_metadata(root, domain.metadata)


def _render_metadata(root: Element, metadata: Metadata) -> None:
    own = add(add(root, "metadata"), "kubevirt", {"xmlns": METADATA_NAMESPACE})
    add(own, "uid", text=metadata.uid)
    if metadata.grace_period is not None:
        add(add(own, "graceperiod"), "deletionGracePeriodSeconds", text=metadata.grace_period)


def _render_size(root: Element, domain: Domain) -> None:
    render_memory(root, domain.memory)
    if domain.backing is not None:
        render_backing(root, domain.backing)
    render_vcpus(root, domain.vcpus)
    if domain.iothreads:
        add(root, "iothreads", text=domain.iothreads)
    if domain.cpu_tune is not None:
        render_cpu_tune(root, domain.cpu_tune)
    if domain.numa_tune is not None:
        render_numa_tune(root, domain.numa_tune)


def _render_arguments(root: Element, arguments: tuple[str, ...]) -> None:
    root.set("xmlns:qemu", QEMU_NAMESPACE)
    element = add(root, "qemu:commandline")
    for argument in arguments:
        add(element, "qemu:arg", {"value": argument})
    if "-set" in arguments:  # QEMU takes changes only to network devices that it was not told of in JSON
        add(add(root, "qemu:capabilities"), "qemu:del", {"capability": "netdev.json"})
