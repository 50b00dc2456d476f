"""
Attach disks to a running guest and detach them.

The supervisor adds the volume, the disk and the mount to the launch request before it asks to attach the disk.
"""

import xml.etree.ElementTree as ET
from typing import Any, Final

import libvirt

from virtshape.api.codec import decode
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.design.devices.disks import design_hotplugged_disk
from virtshape.launcher.domain.devices.disk import Disk, render_disk
from virtshape.launcher.guest.hotplug import HotplugError
from virtshape.launcher.guest.inspection import inspect_domain
from virtshape.launcher.launchrequest import LaunchRequest
from virtshape.launcher.layout import Layout
from virtshape.launcher.volumes.prepare import prepare_volume
from virtshape.launcher.volumes.task import VolumeError

_ALIAS: Final = "ua-"
"""Prefix of user-defined device aliases."""
_IN_PROGRESS: Final = "in the process of unplug"
"""The part of QEMU's error message that means: the guest has not released the disk after an earlier request."""


def attach_volume(domain: Any, layout: Layout, name: str) -> None:
    """Attach the disk of a volume unless the guest has it; raise HotplugError if that is not possible."""
    attached = inspect_domain(domain.XMLDesc(0), {}).volumes
    if any(volume.name == name for volume in attached):
        return
    request = decode(layout.launch_request.read_bytes(), LaunchRequest)
    disk = design_disk(request, str(layout.directory), name, {volume.target for volume in attached})
    domain.attachDeviceFlags(render_disk_xml(disk), libvirt.VIR_DOMAIN_AFFECT_LIVE)


def detach_volume(domain: Any, name: str) -> None:
    """Ask the guest to release the disk of a volume; do nothing if the guest has no such disk or was asked already."""
    if all(volume.name != name for volume in inspect_domain(domain.XMLDesc(0), {}).volumes):
        return
    try:
        domain.detachDeviceAlias(f"{_ALIAS}{name}", libvirt.VIR_DOMAIN_AFFECT_LIVE)
    except libvirt.libvirtError as error:
        if _IN_PROGRESS not in str(error):
            raise


def design_disk(request: LaunchRequest, directory: str, name: str, used_targets: set[str]) -> Disk:
    """Return the disk for a volume in the launch request; raise HotplugError if this host cannot provide it."""
    try:
        sources = prepare_volume(request.vmi, request.mounts, directory, name)
    except VolumeError as error:
        raise HotplugError(str(error)) from error
    context = DesignContext(vmi=request.vmi, host=request.host, sources=sources, directory=directory)
    disk = design_hotplugged_disk(context, name, used_targets)
    if context.refusals:
        raise HotplugError("; ".join(f"{one.field}: {one.reason}" for one in context.refusals))
    return disk


def render_disk_xml(disk: Disk) -> str:
    """Return the XML of one disk."""
    parent = ET.Element("devices")
    render_disk(parent, disk)
    return ET.tostring(parent[0], encoding="unicode")
