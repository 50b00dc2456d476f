"""
Design PCI Express root ports: one per device that needs one, and spare ones for hotplug.

Without spare ports, libvirt adds as many as the devices need.
"""

from typing import Final

from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.domain.devices.controller import Controller
from virtshape.launcher.domain.devices.devices import Devices
from virtshape.launcher.domain.devices.hostdevice import UsbHostDevice

SPARE_PORTS: Final = 4
_EXPRESS: Final = ("virtio", "virtio-non-transitional", "e1000e", "igb", "pcnet", "ne2k_pci")


def design_ports(context: DesignContext, devices: Devices) -> tuple[Controller, ...]:
    """Return root ports for machine types that have them, unless hotplug is disabled."""
    machine = context.spec.domain.machine
    kind = (machine and machine.type) or ""
    if context.devices.disable_hotplug or not ("q35" in kind or kind.startswith("virt")):
        return ()
    ports = _count_used(devices) + SPARE_PORTS
    return tuple(Controller(kind="pci", model="pcie-root-port", index=1 + port) for port in range(ports))


def _count_used(devices: Devices) -> int:
    """Count PCI Express devices without an address; conventional ones share a bridge that libvirt adds."""
    others = len(devices.filesystems)
    others += sum(controller.model == "qemu-xhci" for controller in devices.controllers)
    others += sum(not isinstance(device, UsbHostDevice) for device in devices.host_devices)
    return sum(model in _EXPRESS for model in _list_models(devices)) + others


def _list_models(devices: Devices) -> list[str | None]:
    models = [disk.model for disk in devices.disks if disk.address is None]
    models += [interface.model for interface in devices.interfaces if interface.address is None]
    models += [controller.model for controller in devices.controllers]
    models += ["virtio" for device in devices.inputs if device.bus == "virtio"]
    models += [device.model for device in (devices.rng, devices.balloon, devices.vsock) if device is not None]
    return models
