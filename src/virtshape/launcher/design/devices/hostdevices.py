"""Design host devices that are passed through, such as GPUs and SR-IOV functions. No device is assigned twice."""

import re
from typing import Final

from virtshape.api.kubevirt.devices import GPU, PCI_ADDRESS
from virtshape.api.kubevirt.devices import HostDevice as Wanted
from virtshape.launcher.design.context import DEVICES, DesignContext
from virtshape.launcher.domain.devices.address import PciAddress, UsbAddress, parse_pci_address
from virtshape.launcher.domain.devices.hostdevice import HostDevice, MediatedHostDevice, PciHostDevice, UsbHostDevice

_USB: Final = re.compile(r"([0-9]+):([0-9]+)")


class AvailableDevices:
    """Host devices that are not assigned yet."""

    def __init__(self, context: DesignContext) -> None:
        self._left = {name: list(devices) for name, devices in context.host.devices.items()}
        self._context = context

    def take(self, name: str, field: str) -> str | None:
        """Return the next device with this resource name; if there is none, refuse the field and return None."""
        left = self._left.get(name)
        if left:
            return left.pop(0)
        reason = f"this host offers no {name}" if left is None else f"this host offers no more {name}"
        self._context.refuse(field, reason)
        return None


def design_host_devices(context: DesignContext) -> tuple[HostDevice, ...]:
    """Return the host devices that are assigned to the instance's requests."""
    available = AvailableDevices(context)
    devices: list[HostDevice] = []
    for index, wanted in enumerate(context.devices.host_devices or ()):
        at = f"{DEVICES}.hostDevices[{index}]"
        found = _take(context, available, wanted, at)
        if found is not None:
            devices.append(_pass_through(f"hostdevice-{wanted.name}", found))
    devices += _design_gpus(context, available)
    devices += _design_functions(context, available)
    return tuple(devices)


def _take(context: DesignContext, available: AvailableDevices, wanted: GPU | Wanted, at: str) -> str | None:
    if wanted.claim_name:
        context.refuse(f"{at}.claimName", "resource claims are not supported on this host")
        return None
    return available.take(wanted.device_name or "", f"{at}.deviceName")


def _pass_through(name: str, device: str) -> HostDevice:
    if PCI_ADDRESS.fullmatch(device):
        return PciHostDevice(name=name, source=parse_pci_address(device))
    usb = _USB.fullmatch(device)
    if usb:
        return UsbHostDevice(name=name, source=UsbAddress(int(usb[1]), int(usb[2])))
    return MediatedHostDevice(name=name, uuid=device)


def _design_gpus(context: DesignContext, available: AvailableDevices) -> list[HostDevice]:
    """Assign GPUs. The first virtual GPU is the guest's display by default."""
    devices: list[HostDevice] = []
    for index, gpu in enumerate(context.devices.gpus or ()):
        found = _take(context, available, gpu, f"{DEVICES}.gpus[{index}]")
        if found is None:
            continue
        device = _pass_through(f"gpu-{gpu.name}", found)
        if isinstance(device, MediatedHostDevice) and context.has_screen:
            shown = any(isinstance(other, MediatedHostDevice) and other.display for other in devices)
            device = _show(device, gpu, default=not shown)
        devices.append(device)
    return devices


def _show(device: MediatedHostDevice, gpu: GPU, *, default: bool) -> MediatedHostDevice:
    display = gpu.virtual_gpu_options.display if gpu.virtual_gpu_options else None
    shown = default if display is None or display.enabled is None else display.enabled
    early = display is None or display.ram_fb is None or display.ram_fb.enabled is not False
    return MediatedHostDevice(name=device.name, uuid=device.uuid, display=shown, ramfb=shown and early)


def _design_functions(context: DesignContext, available: AvailableDevices) -> list[HostDevice]:
    """Assign SR-IOV virtual functions, which the host offers under the names of their networks."""
    networks = {network.name: network for network in context.spec.networks or ()}
    devices: list[HostDevice] = []
    for index, interface in enumerate(context.devices.interfaces or ()):
        if interface.sriov is None or interface.state == "absent":
            continue
        network = networks.get(interface.name)
        multus = network.multus if network is not None else None
        found = available.take(
            multus.network_name if multus else interface.name, f"{DEVICES}.interfaces[{index}].sriov"
        )
        if found is not None:
            devices.append(
                PciHostDevice(
                    name=f"sriov-{interface.name}",
                    source=parse_pci_address(found),
                    address=_read_address(interface.pci_address),
                    boot_order=interface.boot_order,
                )
            )
    return devices


def _read_address(text: str | None) -> PciAddress | None:
    return parse_pci_address(text) if text else None
