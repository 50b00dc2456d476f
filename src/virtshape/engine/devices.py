"""Devices: GPUs and host devices from the instance type, and preferred values for fields that the VM leaves unset."""

from copy import copy

from virtshape.api.instancetype.preference import DevicePreferences
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.devices import Devices, PanicDevice, VideoDevice
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.engine.disks import apply_disk_preferences
from virtshape.engine.network import apply_interface_preferences


def check_passthrough(devices: Devices, given: VirtualMachineInstancetypeSpec) -> list[str]:
    """Return the VM's device fields that conflict with the instance type."""
    clashes = []
    if devices.gpus and given.gpus:
        clashes.append("domain.devices.gpus")
    if devices.host_devices and given.host_devices:
        clashes.append("domain.devices.hostDevices")
    return clashes


def apply_passthrough(devices: Devices, given: VirtualMachineInstancetypeSpec) -> None:
    """Set the GPUs and host devices that the instance type lists."""
    if given.gpus:
        devices.gpus = [copy(gpu) for gpu in given.gpus]  # copies, because a preference may modify GPUs
    if given.host_devices:
        devices.host_devices = list(given.host_devices)


def apply_device_preferences(spec: VirtualMachineInstanceSpec, preferred: DevicePreferences) -> None:
    """Fill in preferred values for the device fields that the VM leaves unset."""
    devices = spec.domain.devices
    _apply_switches(devices, preferred)
    apply_disk_preferences(devices, preferred)
    apply_interface_preferences(spec, preferred)
    for device in devices.inputs or ():
        device.bus = device.bus or preferred.preferred_input_bus
        device.type = device.type or preferred.preferred_input_type or ""
    devices.rng = devices.rng or preferred.preferred_rng
    devices.tpm = devices.tpm or preferred.preferred_tpm
    if devices.sound is not None:
        devices.sound.model = devices.sound.model or preferred.preferred_sound_model
    if preferred.preferred_video_type and (devices.video is None or not devices.video.type):
        devices.video = VideoDevice(type=preferred.preferred_video_type)
    if preferred.preferred_panic_device_model is not None:
        _apply_panic_model(devices, preferred.preferred_panic_device_model)
    if preferred.preferred_virtual_gpu_options is not None:
        _apply_gpu_options(devices, preferred)


def _apply_switches(devices: Devices, preferred: DevicePreferences) -> None:
    if preferred.preferred_autoattach_graphics_device is not None and devices.autoattach_graphics_device is None:
        devices.autoattach_graphics_device = preferred.preferred_autoattach_graphics_device
    if preferred.preferred_autoattach_mem_balloon is not None and devices.autoattach_mem_balloon is None:
        devices.autoattach_mem_balloon = preferred.preferred_autoattach_mem_balloon
    if preferred.preferred_autoattach_pod_interface is not None and devices.autoattach_pod_interface is None:
        devices.autoattach_pod_interface = preferred.preferred_autoattach_pod_interface
    if preferred.preferred_autoattach_serial_console is not None and devices.autoattach_serial_console is None:
        devices.autoattach_serial_console = preferred.preferred_autoattach_serial_console
    if preferred.preferred_autoattach_input_device is not None and devices.autoattach_input_device is None:
        devices.autoattach_input_device = preferred.preferred_autoattach_input_device
    if preferred.preferred_disable_hotplug is not None and devices.disable_hotplug is None:
        devices.disable_hotplug = preferred.preferred_disable_hotplug
    if preferred.preferred_use_virtio_transitional is not None and devices.use_virtio_transitional is None:
        devices.use_virtio_transitional = preferred.preferred_use_virtio_transitional
    if preferred.preferred_block_multi_queue is not None and devices.block_multi_queue is None:
        devices.block_multi_queue = preferred.preferred_block_multi_queue
    if preferred.preferred_network_interface_multi_queue is not None and devices.network_interface_multiqueue is None:
        devices.network_interface_multiqueue = preferred.preferred_network_interface_multi_queue


def _apply_gpu_options(devices: Devices, preferred: DevicePreferences) -> None:
    options = preferred.preferred_virtual_gpu_options
    for gpu in devices.gpus or ():
        gpu.virtual_gpu_options = gpu.virtual_gpu_options or options


def _apply_panic_model(devices: Devices, model: str) -> None:
    panics = devices.panic_devices = devices.panic_devices or [PanicDevice()]
    for device in panics:
        if device.model is None:
            device.model = model
