"""
Devices: the GPUs and host devices an instance type gives, and what a preference says of all the others.

Pure: no I/O, no clock, no logging.
"""

from collections.abc import Iterator

import msgspec

from virtshape.api.instancetype.preference import DevicePreferences
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.devices import Devices, PanicDevice, VideoDevice
from virtshape.engine.disks import apply_disk_preferences
from virtshape.engine.draft import Draft
from virtshape.engine.network import apply_interface_preferences

# what the preference calls it: what the devices call it
_SWITCHES = (
    ("preferred_autoattach_graphics_device", "autoattach_graphics_device"),
    ("preferred_autoattach_mem_balloon", "autoattach_mem_balloon"),
    ("preferred_autoattach_pod_interface", "autoattach_pod_interface"),
    ("preferred_autoattach_serial_console", "autoattach_serial_console"),
    ("preferred_autoattach_input_device", "autoattach_input_device"),
    ("preferred_disable_hotplug", "disable_hotplug"),
    ("preferred_use_virtio_transitional", "use_virtio_transitional"),
    ("preferred_block_multi_queue", "block_multi_queue"),
    ("preferred_network_interface_multi_queue", "network_interface_multiqueue"),
    ("preferred_rng", "rng"),
    ("preferred_tpm", "tpm"),
)


def check_passthrough(devices: Devices, given: VirtualMachineInstancetypeSpec) -> Iterator[str]:
    """The devices of the VM that its instance type gives too."""
    if devices.gpus and given.gpus:
        yield "domain.devices.gpus"
    if devices.host_devices and given.host_devices:
        yield "domain.devices.hostDevices"


def apply_passthrough(draft: Draft, given: VirtualMachineInstancetypeSpec) -> None:
    """Write the GPUs and host devices that the instance type gives."""
    devices = draft.spec.domain.devices
    if given.gpus:
        draft.put(devices, "gpus", list(given.gpus))
    if given.host_devices:
        draft.put(devices, "host_devices", list(given.host_devices))


def apply_device_preferences(draft: Draft, preferred: DevicePreferences) -> None:
    """Fill in what the VM leaves open, device by device."""
    devices = draft.spec.domain.devices
    for wish, name in _SWITCHES:
        value = getattr(preferred, wish)
        if value is not None and getattr(devices, name) is None:
            draft.put(devices, name, value)
    apply_disk_preferences(draft, preferred)
    apply_interface_preferences(draft, preferred)
    _apply_input_preferences(draft, preferred)
    if devices.gpus and preferred.preferred_virtual_gpu_options is not None:
        _apply_gpu_options(draft, preferred)
    if devices.sound is not None and preferred.preferred_sound_model:
        draft.fill(devices.sound, "model", preferred.preferred_sound_model)
    if preferred.preferred_video_type and (devices.video is None or not devices.video.type):
        draft.put(devices, "video", VideoDevice(type=preferred.preferred_video_type))
    if preferred.preferred_panic_device_model is not None:
        _apply_panic_model(draft, preferred.preferred_panic_device_model)


def _apply_input_preferences(draft: Draft, preferred: DevicePreferences) -> None:
    for device in draft.spec.domain.devices.inputs or ():
        draft.fill(device, "bus", preferred.preferred_input_bus or None)
        draft.fill(device, "type", preferred.preferred_input_type or None)


def _apply_gpu_options(draft: Draft, preferred: DevicePreferences) -> None:
    gpus = draft.spec.domain.devices.gpus or []
    for index, gpu in enumerate(gpus):
        if gpu.virtual_gpu_options is None:
            gpus[index] = msgspec.structs.replace(gpu)  # it may be the instance type's own
            draft.put(gpus[index], "virtual_gpu_options", preferred.preferred_virtual_gpu_options)


def _apply_panic_model(draft: Draft, model: str) -> None:
    devices = draft.spec.domain.devices
    if not devices.panic_devices:
        draft.append(devices, "panic_devices", PanicDevice(model=model))
    for device in devices.panic_devices or ():
        draft.offer(device, "model", model)
