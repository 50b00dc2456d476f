"""
Check that the KubeVirt configuration permits the host resources that a spec uses.

As in KubeVirt, administrators permit host resources with feature gates and permittedHostDevices. Admission and the pod
builder both run these checks.
"""

from collections.abc import Callable, Iterator, Sequence

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import LaunchSecurity
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.network import Network
from virtshape.api.kubevirt.volume import Volume
from virtshape.engine.featuregates import HOST_ACCESS_RULE, check_gate, describe_disabled_gate, is_gate_enabled
from virtshape.engine.permittedhostdevices import check_gpus, check_host_devices

ExplainHostDisk = Callable[[str], str]
"""Returns why a host file may not be used as a disk, or an empty string if it may."""


def explain_host_disks(configuration: KubeVirtConfiguration | None) -> ExplainHostDisk:
    """Return the check for host disks in a cluster, where the HostDisk feature gate permits all paths or none."""
    reason = "" if is_gate_enabled("HostDisk", configuration) else describe_disabled_gate("HostDisk")
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
    for volume in spec.volumes or ():  # a loop is faster than any(), and most guests have neither kind of volume
        if volume.host_disk is not None or volume.downward_metrics is not None:
            found += _check_volumes(spec.volumes or (), f"{root}.volumes", configuration, explain_host_disk)
            break
    if devices.gpus:
        found += check_gpus(devices.gpus, f"{root}.domain.devices.gpus", configuration)
    if devices.host_devices:
        found += check_host_devices(devices.host_devices, f"{root}.domain.devices.hostDevices", configuration)
    if devices.autoattach_vsock:
        found += check_gate("VSOCK", f"{root}.domain.devices.autoattachVSOCK", configuration)
    if devices.downward_metrics is not None:
        prefix = "downwardMetrics virtio serial is not allowed: "
        found += check_gate("DownwardMetrics", f"{root}.domain.devices.downwardMetrics", configuration, prefix)
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
                yield FieldError(f"{at}[{index}].hostDisk", reason, rule=HOST_ACCESS_RULE)
        elif volume.downward_metrics is not None:
            prefix = "downwardMetrics disks are not allowed: "
            yield from check_gate("DownwardMetrics", f"{at}[{index}].downwardMetrics", configuration, prefix)


def _check_filesystems(
    spec: VirtualMachineInstanceSpec, root: str, configuration: KubeVirtConfiguration | None
) -> Iterator[FieldError]:
    stored = {one.name for one in spec.volumes or () if one.persistent_volume_claim or one.data_volume}
    for index, filesystem in enumerate(spec.domain.devices.filesystems or ()):
        if filesystem.name in stored:
            field = f"{root}.domain.devices.filesystems[{index}]"
            yield from check_gate("EnableVirtioFsStorageVolumes", field, configuration, "virtiofs is not allowed: ")


def _check_security(
    security: LaunchSecurity, field: str, configuration: KubeVirtConfiguration | None
) -> Iterator[FieldError]:
    if security.sev is not None or security.snp is not None:
        yield from check_gate("WorkloadEncryptionSEV", field, configuration)
    if security.tdx is not None:
        yield from check_gate("WorkloadEncryptionTDX", field, configuration)


def _check_networks(
    networks: Sequence[Network], at: str, configuration: KubeVirtConfiguration | None
) -> Iterator[FieldError]:
    for index, network in enumerate(networks):
        if network.resource_claim is not None:
            yield from check_gate("NetworkDevicesWithDRA", f"{at}[{index}].resourceClaim", configuration)
