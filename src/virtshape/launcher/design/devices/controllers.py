"""
Design the controllers for disks, serial consoles and USB devices, and PCI Express root ports.

Each device that needs a root port gets one, and spare root ports are added for hotplug. If hotplug is disabled, libvirt
adds only as many ports as the devices need.
"""

from typing import Final

from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.design.devices.disks import get_guest_disk
from virtshape.launcher.design.devices.iothreads import Threads
from virtshape.launcher.design.topology import lay_out_vcpus
from virtshape.launcher.domain.devices.devices import Controller, Devices
from virtshape.launcher.domain.devices.hostdevice import UsbHostDevice

SPARE_PORTS: Final = 4
_EXPRESS: Final = ("virtio", "virtio-non-transitional", "e1000e", "igb", "pcnet", "ne2k_pci")


def design_controllers(context: DesignContext, devices: Devices, threads: Threads) -> tuple[Controller, ...]:
    """Return the controllers for these devices and, unless hotplug is disabled, a SCSI controller."""
    controllers = [Controller(kind="usb", model="qemu-xhci" if _needs_usb(context, devices) else "none")]
    if not context.devices.disable_hotplug or any(disk.bus == "scsi" for disk in devices.disks):
        controllers.append(_design_scsi(context, threads))
    controllers.append(Controller(kind="virtio-serial", model=context.virtio, iommu=context.iommu))
    return tuple(controllers)


def _needs_usb(context: DesignContext, devices: Devices) -> bool:
    if context.architecture != "amd64":
        return context.architecture == "arm64"
    return bool(
        devices.redirections
        or any(device.bus == "usb" for device in devices.inputs)
        or any(disk.bus == "usb" for disk in devices.disks)
        or any(isinstance(device, UsbHostDevice) for device in devices.host_devices)
    )


def _design_scsi(context: DesignContext, threads: Threads) -> Controller:
    """Return the SCSI controller, whose I/O thread and queues all SCSI disks share."""
    thread = _find_scsi_thread(context, threads)
    return Controller(
        kind="scsi",
        model="virtio-scsi" if context.architecture == "s390x" else context.virtio,
        queues=lay_out_vcpus(context.spec.domain).vcpus if thread else None,
        io_thread=thread,
        iommu=context.iommu,
    )


def _find_scsi_thread(context: DesignContext, threads: Threads) -> int | None:
    disks = [disk for disk in context.devices.disks or () if get_guest_disk(disk, context.architecture).bus == "scsi"]
    first = next((disk for disk in disks if disk.dedicated_io_thread), None)
    if first is None and disks and context.spec.domain.io_threads_policy is not None:
        first = disks[0]
    return threads.assign(first) if first is not None else None


def design_ports(context: DesignContext, devices: Devices) -> tuple[Controller, ...]:
    """Return root ports for machine types that have them, unless hotplug is disabled."""
    machine = context.spec.domain.machine
    kind = (machine and machine.type) or ""
    if context.devices.disable_hotplug or not ("q35" in kind or kind.startswith("virt")):
        return ()
    ports = _count_used(devices) + SPARE_PORTS
    return tuple(Controller(kind="pci", model="pcie-root-port", index=1 + port) for port in range(ports))


def _count_used(devices: Devices) -> int:
    """Return the number of root ports that devices need; conventional PCI devices share a bridge that libvirt adds."""
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
