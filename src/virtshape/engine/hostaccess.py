"""
Check the use of host resources, which the administrator must permit in the KubeVirt configuration.

As in KubeVirt, feature gates and permittedHostDevices permit it. Admission and the pod builder both run these checks.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.devices import GPU, HostDevice
from virtshape.api.kubevirt.domain import LaunchSecurity
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.network import Network
from virtshape.api.kubevirt.volume import Volume

ExplainHostDisk = Callable[[str], str]
"""Returns why a host file may not be used as a disk, or an empty string if it may."""

_RULE: Final = "host-access"
_GATES_FIELD: Final = "spec.configuration.developerConfiguration.featureGates"


def is_gate_enabled(name: str, configuration: KubeVirtConfiguration | None) -> bool:
    """Return True if the configuration enables a feature gate and does not disable it."""
    developer = configuration.developer_configuration if configuration is not None else None
    if developer is None or name not in (developer.feature_gates or ()):
        return False
    return name not in (developer.disabled_feature_gates or ())


def explain_host_disks(configuration: KubeVirtConfiguration | None) -> ExplainHostDisk:
    """Return the check for host disks on a cluster, where the feature gate applies to all paths."""
    reason = "" if is_gate_enabled("HostDisk", configuration) else _describe_gate("HostDisk")
    return lambda _path: reason


def check_host_access(
    spec: VirtualMachineInstanceSpec,
    root: str,
    configuration: KubeVirtConfiguration | None,
    explain_host_disk: ExplainHostDisk,
) -> list[FieldError]:
    """Return an error for each host resource that an expanded spec may not use; `root` is the spec's field path."""
    found: list[FieldError] = []
    domain, devices = spec.domain, spec.domain.devices
    for volume in spec.volumes or ():  # a plain loop is faster, and most guests have no such volume
        if volume.host_disk is not None or volume.downward_metrics is not None:
            found += _check_volumes(spec.volumes or (), f"{root}.volumes", configuration, explain_host_disk)
            break
    if devices.gpus:
        found += _check_devices("GPU", devices.gpus, f"{root}.domain.devices.gpus", configuration)
    if devices.host_devices:
        found += _check_devices("HostDevice", devices.host_devices, f"{root}.domain.devices.hostDevices", configuration)
    if devices.autoattach_vsock:
        found += _require("VSOCK", f"{root}.domain.devices.autoattachVSOCK", configuration)
    if devices.downward_metrics is not None:
        prefix = "downwardMetrics virtio serial is not allowed: "
        found += _require("DownwardMetrics", f"{root}.domain.devices.downwardMetrics", configuration, prefix)
    if devices.filesystems:
        found += _check_filesystems(spec, root, configuration)
    if domain.launch_security is not None:
        found += _check_security(domain.launch_security, f"{root}.domain.launchSecurity", configuration)
    for network in spec.networks or ():
        if network.resource_claim is not None:
            found += _check_networks(spec.networks or (), f"{root}.networks", configuration)
            break
    return found


def _check_volumes(
    volumes: Sequence[Volume],
    at: str,
    configuration: KubeVirtConfiguration | None,
    explain_host_disk: ExplainHostDisk,
) -> Iterator[FieldError]:
    for index, volume in enumerate(volumes):
        if volume.host_disk is not None:
            reason = explain_host_disk(volume.host_disk.path)
            if reason:
                yield FieldError(f"{at}[{index}].hostDisk", reason, rule=_RULE)
        elif volume.downward_metrics is not None:
            prefix = "downwardMetrics disks are not allowed: "
            yield from _require("DownwardMetrics", f"{at}[{index}].downwardMetrics", configuration, prefix)


def _check_devices(
    what: str, devices: Sequence[GPU | HostDevice], at: str, configuration: KubeVirtConfiguration | None
) -> Iterator[FieldError]:
    permitted = _list_permitted(configuration)
    if what == "HostDevice" and any(device.device_name for device in devices):
        yield from _require("HostDevices", at, configuration)
    for index, device in enumerate(devices):
        if device.claim_name or device.request_name:
            gate = "GPUsWithDRA" if what == "GPU" else "HostDevicesWithDRA"
            yield from _require(gate, f"{at}[{index}].claimName", configuration)
        if device.device_name and device.device_name not in permitted:
            message = f"{what} {device.device_name} is not permitted in permittedHostDevices configuration"
            listed = f"permitted are {', '.join(sorted(permitted))}" if permitted else "no device is permitted"
            yield FieldError(f"{at}[{index}].deviceName", f"{message}: {listed}", rule=_RULE)


def _list_permitted(configuration: KubeVirtConfiguration | None) -> set[str]:
    listed = configuration.permitted_host_devices if configuration is not None else None
    if listed is None:
        return set()
    kinds = (listed.pci_host_devices, listed.mediated_devices, listed.usb)
    return {device.resource_name for devices in kinds for device in devices or ()}


def _check_filesystems(
    spec: VirtualMachineInstanceSpec, root: str, configuration: KubeVirtConfiguration | None
) -> Iterator[FieldError]:
    stored = {one.name for one in spec.volumes or () if one.persistent_volume_claim or one.data_volume}
    for index, filesystem in enumerate(spec.domain.devices.filesystems or ()):
        if filesystem.name in stored:
            field = f"{root}.domain.devices.filesystems[{index}]"
            yield from _require("EnableVirtioFsStorageVolumes", field, configuration, "virtiofs is not allowed: ")


def _check_security(
    security: LaunchSecurity, field: str, configuration: KubeVirtConfiguration | None
) -> Iterator[FieldError]:
    if security.sev is not None or security.snp is not None:
        yield from _require("WorkloadEncryptionSEV", field, configuration)
    if security.tdx is not None:
        yield from _require("WorkloadEncryptionTDX", field, configuration)


def _check_networks(
    networks: Sequence[Network], at: str, configuration: KubeVirtConfiguration | None
) -> Iterator[FieldError]:
    for index, network in enumerate(networks):
        if network.resource_claim is not None:
            yield from _require("NetworkDevicesWithDRA", f"{at}[{index}].resourceClaim", configuration)


def _require(
    gate: str, field: str, configuration: KubeVirtConfiguration | None, prefix: str = ""
) -> Iterator[FieldError]:
    if not is_gate_enabled(gate, configuration):
        yield FieldError(field, f"{prefix}{_describe_gate(gate)}", rule=_RULE)


def _describe_gate(name: str) -> str:
    called = {"HostDevices": "Host Devices"}.get(name, name)
    return f"{called} feature gate is not enabled: an administrator adds {name} to {_GATES_FIELD}"
