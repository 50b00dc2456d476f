"""Check that GPUs and host devices of a VM are listed in permittedHostDevices of the KubeVirt configuration."""

from collections.abc import Iterator, Sequence

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.devices import GPU, HostDevice
from virtshape.engine.featuregates import HOST_ACCESS_RULE, check_gate


def check_gpus(gpus: Sequence[GPU], at: str, configuration: KubeVirtConfiguration | None) -> Iterator[FieldError]:
    """Yield an error for each GPU that is not permitted; `at` is the field path of the list."""
    yield from _check_devices("GPU", "GPUsWithDRA", gpus, at, configuration)


def check_host_devices(
    devices: Sequence[HostDevice], at: str, configuration: KubeVirtConfiguration | None
) -> Iterator[FieldError]:
    """Yield an error for each host device that is not permitted; `at` is the field path of the list."""
    if any(device.device_name for device in devices):
        yield from check_gate("HostDevices", at, configuration)
    yield from _check_devices("HostDevice", "HostDevicesWithDRA", devices, at, configuration)


def list_permitted_devices(configuration: KubeVirtConfiguration | None) -> set[str]:
    """Return the resource names of all devices in permittedHostDevices."""
    listed = configuration.permitted_host_devices if configuration is not None else None
    if listed is None:
        return set()
    kinds = (listed.pci_host_devices, listed.mediated_devices, listed.usb)
    return {device.resource_name for devices in kinds for device in devices or ()}


def _check_devices(
    kind: str,
    gate: str,
    devices: Sequence[GPU | HostDevice],
    at: str,
    configuration: KubeVirtConfiguration | None,
) -> Iterator[FieldError]:
    permitted = list_permitted_devices(configuration)
    for index, device in enumerate(devices):
        if device.claim_name or device.request_name:
            yield from check_gate(gate, f"{at}[{index}].claimName", configuration)
        if device.device_name and device.device_name not in permitted:
            message = f"{kind} {device.device_name} is not permitted in permittedHostDevices configuration"
            listed = f"permitted devices are {', '.join(sorted(permitted))}" if permitted else "no device is permitted"
            yield FieldError(f"{at}[{index}].deviceName", f"{message}: {listed}", rule=HOST_ACCESS_RULE)
