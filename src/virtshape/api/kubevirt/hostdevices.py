"""
Structs for the configuration of host devices that VMs may use: PCI, USB and mediated devices such as vGPUs.

A VM refers to a device by its resource name.
"""

from virtshape.api.model import Settings


class NodeMediatedDeviceTypesConfig(Settings):
    """The mediated devices to create on some nodes."""

    node_selector: dict[str, str]
    """Labels of the nodes."""
    mediated_device_types: list[str] | None = None
    """Types to create on these nodes, such as nvidia-222; replaces the cluster-wide list."""
    mediated_devices_types: list[str] | None = None
    """Deprecated in favour of mediatedDeviceTypes."""


class MediatedDevicesConfiguration(Settings):
    """The mediated devices to create on the nodes."""

    enabled: bool | None = None
    """Whether devices are created and removed automatically; true by default."""
    mediated_device_types: list[str] | None = None
    """Types to create on every node whose cards offer them, such as nvidia-222."""
    node_mediated_device_types: list[NodeMediatedDeviceTypesConfig] | None = None
    """Types to create on certain nodes, instead of the cluster-wide list."""
    mediated_devices_types: list[str] | None = None
    """Deprecated in favour of mediatedDeviceTypes."""


class MediatedHostDevice(Settings):
    """A kind of mediated device that VMs may use."""

    mdev_name_selector: str
    """Name of the type as the driver shows it, such as GRID T4-1Q."""
    resource_name: str
    """Resource name in VMs, such as nvidia.com/GRID_T4-1Q."""
    external_resource_provider: bool | None = None
    """Set to true if another device plugin provides these devices."""


class PciHostDevice(Settings):
    """A kind of PCI device that VMs may use."""

    pci_vendor_selector: str
    """Vendor and product id in hexadecimal, such as 10DE:1EB8."""
    resource_name: str
    """Resource name in VMs, such as nvidia.com/TU104GL_Tesla_T4."""
    external_resource_provider: bool | None = None
    """Set to true if another device plugin provides these devices."""


class USBSelector(Settings):
    """Vendor and product id of a USB device."""

    product: str
    """Product id in hexadecimal, such as 0001."""
    vendor: str
    """Vendor id in hexadecimal, such as 46f4."""


class USBHostDevice(Settings):
    """A set of USB devices that VMs may use together."""

    resource_name: str
    """Resource name in VMs, such as kubevirt.io/storage."""
    selectors: list[USBSelector] | None = None
    """The devices in the set; a VM gets one of each."""
    external_resource_provider: bool | None = None
    """Set to true if another device plugin provides these devices."""


class PermittedHostDevices(Settings):
    """All devices of the nodes that VMs may use; a VM that uses any other device is rejected."""

    pci_host_devices: list[PciHostDevice] | None = None
    """PCI devices, including GPUs."""
    mediated_devices: list[MediatedHostDevice] | None = None
    """Mediated devices, such as vGPUs."""
    usb: list[USBHostDevice] | None = None
    """Sets of USB devices."""
