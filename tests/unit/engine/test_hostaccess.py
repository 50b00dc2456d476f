"""Host resources that a guest may use: only those that the configuration allows."""

import re
from pathlib import Path
from typing import Any

import pytest

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.model import JsonObject
from virtshape.engine.hostaccess import check_host_access, explain_host_disks


def build(devices: JsonObject | None = None, domain: JsonObject | None = None, **spec: Any) -> JsonObject:
    return {"domain": {"devices": devices or {}, **(domain or {})}, **spec}


def check(spec: JsonObject, *gates: str, **configuration: Any) -> list[str]:
    """Return `field: message` for each field that is not permitted."""
    settings = from_tree(
        {"developerConfiguration": {"featureGates": list(gates)}, **configuration}, KubeVirtConfiguration
    )
    found = check_host_access(
        from_tree(spec, VirtualMachineInstanceSpec), "spec", settings, explain_host_disks(settings)
    )
    return [f"{conflict.fields[0]}: {conflict.message}" for conflict in found]


HOST_DISK = build(volumes=[{"name": "d", "hostDisk": {"path": "/etc/shadow", "type": "Disk"}}])
GPU = build({"gpus": [{"name": "g", "deviceName": "nvidia.com/T4"}]})
CLAIMED = {"name": "x", "claimName": "c", "requestName": "r"}
GUARDED = {
    "HostDisk": (HOST_DISK, "spec.volumes[0].hostDisk: HostDisk feature gate is not enabled"),
    "GPUsWithDRA": (build({"gpus": [CLAIMED]}), "spec.domain.devices.gpus[0].claimName: GPUsWithDRA feature gate"),
    "HostDevicesWithDRA": (
        build({"hostDevices": [CLAIMED]}),
        "spec.domain.devices.hostDevices[0].claimName: HostDevicesWithDRA feature gate is not enabled",
    ),
    "NetworkDevicesWithDRA": (
        build(networks=[{"name": "n", "resourceClaim": {"claimName": "c", "requestName": "r"}}]),
        "spec.networks[0].resourceClaim: NetworkDevicesWithDRA feature gate is not enabled",
    ),
    "VSOCK": (
        build({"autoattachVSOCK": True}),
        "spec.domain.devices.autoattachVSOCK: VSOCK feature gate is not enabled",
    ),
    "DownwardMetrics": (
        build(volumes=[{"name": "m", "downwardMetrics": {}}]),
        "spec.volumes[0].downwardMetrics: downwardMetrics disks are not allowed: DownwardMetrics feature gate",
    ),
    "EnableVirtioFsStorageVolumes": (
        build(
            {"filesystems": [{"name": "f", "virtiofs": {}}]},
            volumes=[{"name": "f", "persistentVolumeClaim": {"claimName": "c"}}],
        ),
        "spec.domain.devices.filesystems[0]: virtiofs is not allowed: EnableVirtioFsStorageVolumes feature gate",
    ),
    "WorkloadEncryptionSEV": (
        build(domain={"launchSecurity": {"snp": {}}}),
        "spec.domain.launchSecurity: WorkloadEncryptionSEV feature gate is not enabled",
    ),
    "WorkloadEncryptionTDX": (
        build(domain={"launchSecurity": {"tdx": {}}}),
        "spec.domain.launchSecurity: WorkloadEncryptionTDX feature gate is not enabled",
    ),
}


@pytest.mark.parametrize(("gate", "guarded"), GUARDED.items(), ids=GUARDED.keys())
def test_host_access_field_requires_its_feature_gate(gate: str, guarded: tuple[JsonObject, str]) -> None:
    spec, message = guarded
    [refusal] = check(spec)
    assert refusal.startswith(message)
    assert check(spec, gate) == []
    disabled = {"featureGates": [gate], "disabledFeatureGates": [gate]}
    assert len(check(spec, developerConfiguration=disabled)) == 1


def test_host_access_is_forbidden_without_a_configuration() -> None:
    spec = from_tree(GPU | {"volumes": HOST_DISK["volumes"]}, VirtualMachineInstanceSpec)
    assert len(check_host_access(spec, "spec", None, explain_host_disks(None))) == 2


def test_every_checked_feature_gate_is_documented() -> None:
    document = (Path(__file__).parents[3] / "docs" / "feature-gates.md").read_text()
    checked = document.partition("## Gates that are checked")[2].partition("## ")[0]
    disk, *others = GUARDED
    assert re.findall(r"^\| `(\w+)` \|", checked, re.MULTILINE) == [disk, "HostDevices", *others]
