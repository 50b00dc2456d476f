"""GPUs and host devices that the configuration permits."""

from typing import Any

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.devices import GPU, HostDevice
from virtshape.api.model import JsonObject
from virtshape.engine.permittedhostdevices import check_gpus, check_host_devices

PERMITTED: JsonObject = {
    "permittedHostDevices": {
        "pciHostDevices": [{"pciVendorSelector": "10DE:1EB8", "resourceName": "nvidia.com/T4"}],
        "mediatedDevices": [{"mdevNameSelector": "GRID", "resourceName": "nvidia.com/GRID"}],
        "usb": [{"resourceName": "kubevirt.io/storage", "selectors": [{"vendor": "46f4", "product": "0001"}]}],
    }
}


def configure(*gates: str, **configuration: Any) -> KubeVirtConfiguration:
    return from_tree({"developerConfiguration": {"featureGates": list(gates)}, **configuration}, KubeVirtConfiguration)


def check_gpu(name: str, configuration: KubeVirtConfiguration) -> list[str]:
    """Return `field: message` if the GPU is not permitted."""
    found = check_gpus([GPU(name="g", device_name=name)], "gpus", configuration)
    return [f"{error.fields[0]}: {error.message}" for error in found]


def check_host_device(name: str, configuration: KubeVirtConfiguration) -> list[str]:
    """Return `field: message` for each reason why the host device is not permitted."""
    found = check_host_devices([HostDevice(name="h", device_name=name)], "hostDevices", configuration)
    return [f"{error.fields[0]}: {error.message}" for error in found]


def test_listed_gpus_and_host_devices_are_permitted() -> None:
    configuration = configure("HostDevices", **PERMITTED)
    assert check_gpu("nvidia.com/T4", configuration) == []
    assert check_gpu("nvidia.com/GRID", configuration) == []
    assert check_host_device("kubevirt.io/storage", configuration) == []


def test_refusal_of_a_gpu_lists_the_permitted_gpus() -> None:
    listed = "permitted devices are kubevirt.io/storage, nvidia.com/GRID, nvidia.com/T4"
    message = f"GPU amd.com/X is not permitted in permittedHostDevices configuration: {listed}"
    assert check_gpu("amd.com/X", configure(**PERMITTED)) == [f"gpus[0].deviceName: {message}"]


def test_host_devices_are_refused_if_none_is_permitted() -> None:
    message = (
        "HostDevice devices.kubevirt.io/kvm is not permitted in permittedHostDevices configuration: "
        "no device is permitted"
    )
    found = check_host_device("devices.kubevirt.io/kvm", configure("HostDevices"))
    assert found == [f"hostDevices[0].deviceName: {message}"]


def test_permitted_host_devices_need_their_feature_gate() -> None:
    [refusal] = check_host_device("kubevirt.io/storage", configure(**PERMITTED))
    assert refusal.startswith("hostDevices: Host Devices feature gate is not enabled")
