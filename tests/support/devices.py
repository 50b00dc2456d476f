"""
Instances for device tests, and the resulting device design.

Devices and fields are plain JSON; an instance is a q35 machine without devices by default.
"""

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import indent, tostring

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.launcher.design.devices.devices import DeviceDesign, design_devices
from virtshape.launcher.domain.devices.devices import render_devices
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.host import Host

DIRECTORY = "/guest"
MEDIATED = "8d7bbf9e-4d35-4f4c-9b7c-0b8b5e5b5f10"
POD_NETWORK: JsonObject = {"networks": [{"name": "default", "pod": {}}]}


def build_instance(
    devices: JsonObject | None = None,
    *,
    domain: JsonObject | None = None,
    status: JsonObject | None = None,
    **spec: Any,
) -> VirtualMachineInstance:
    """Build an instance with these devices; other keyword arguments are fields of its spec."""
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "guest"},
        "spec": {"domain": {"machine": {"type": "q35"}, **(domain or {}), "devices": devices or {}}, **spec},
        "status": status,
    }
    return from_tree(tree, VirtualMachineInstance)


def design_with(
    devices: JsonObject | None = None,
    *,
    host: Host | None = None,
    sources: Mapping[str, Source] | None = None,
    directory: str = DIRECTORY,
    **rest: Any,
) -> DeviceDesign:
    """Return the device design of an instance with these devices."""
    return design_devices(build_instance(devices, **rest), host or Host(), sources or {}, directory)


def list_refusals(design: DeviceDesign) -> dict[str, str]:
    """Return the reason for each refused field, by field path without the common prefix."""
    return {item.field.removeprefix("spec.domain.devices."): item.reason for item in design.refusals}


def build_disk(name: str = "root", **fields: Any) -> JsonObject:
    """Return devices with one disk."""
    return {"disks": [{"name": name, **fields}]}


def build_interface(**interface: Any) -> JsonObject:
    """Return devices with one interface on the pod network, with masquerade binding by default."""
    bindings = {"bridge", "sriov", "passtBinding", "binding", "slirp", "macvtap", "passt"}
    binding: JsonObject = {} if bindings & set(interface) else {"masquerade": {}}
    return {"interfaces": [{"name": "default", **binding, **interface}]}


def build_volumes(*names: str) -> JsonObject:
    """Return spec fields with an emptyDisk volume for each name."""
    return {"volumes": [{"name": name, "emptyDisk": {"capacity": "1Gi"}} for name in names]}


def write_domain(design: DeviceDesign, *, machine: str = "q35", name: str = "guest") -> str:
    """Render a minimal domain with these devices."""
    element = render_devices(design.devices)
    indent(element)
    threads = f"<iothreads>{design.io_threads}</iothreads>" if design.io_threads else ""
    shared = "<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"
    return (
        f"<domain type='qemu'><name>{name}</name><memory unit='MiB'>64</memory>"
        f"{shared if design.shared_memory else ''}<vcpu>4</vcpu>{threads}"
        f"<os><type arch='x86_64' machine='{machine}'>hvm</type></os><features><acpi/></features>"
        f"{tostring(element, encoding='unicode')}</domain>"
    )
