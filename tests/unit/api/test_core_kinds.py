"""Whole objects of every kind come back as they went in."""

from typing import Any

import msgspec
import pytest

from virtshape.api import apps, cdi, codec, snapshot
from virtshape.api.core import claim, config, event, namespace, serviceaccount
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.model import Model

FLAVOR_SPEC: dict[str, Any] = {
    "cpu": {
        "guest": 4,
        "model": "host-passthrough",
        "dedicatedCPUPlacement": True,
        "numa": {"guestMappingPassthrough": {}},
        "isolateEmulatorThread": True,
        "realtime": {"mask": "0-3,^1"},
    },
    "memory": {"guest": "2Gi", "hugepages": {"pageSize": "1Gi"}},
    "gpus": [{"name": "gpu1", "deviceName": "example.com/vgpu"}],
    "hostDevices": [{"name": "nic1", "deviceName": "example.com/nic"}],
    "ioThreadsPolicy": "auto",
    "launchSecurity": {"sev": {}},
}

PREFERENCE_SPEC: dict[str, Any] = {
    "clock": {
        "preferredClockOffset": {"utc": {"offsetSeconds": 3600}},
        "preferredTimer": {"hpet": {"present": False}, "pit": {"tickPolicy": "delay"}},
    },
    "cpu": {"preferredCPUTopology": "preferSockets"},
    "devices": {
        "preferredAutoattachGraphicsDevice": True,
        "preferredAutoattachMemBalloon": False,
        "preferredAutoattachPodInterface": True,
        "preferredAutoattachSerialConsole": False,
        "preferredDisableHotplug": True,
        "preferredVirtualGPUOptions": {"display": {"enabled": True}},
        "preferredSoundModel": "ac97",
        "preferredUseVirtioTransitional": True,
        "preferredInputBus": "usb",
        "preferredInputType": "tablet",
        "preferredDiskBus": "sata",
        "preferredLunBus": "scsi",
        "preferredCdromBus": "sata",
        "preferredDiskDedicatedIoThread": True,
        "preferredDiskCache": "none",
        "preferredDiskIO": "native",
        "preferredDiskBlockSize": {"custom": {"logical": 4096, "physical": 4096}},
        "preferredInterfaceModel": "e1000",
        "preferredRng": {},
        "preferredBlockMultiQueue": True,
        "preferredNetworkInterfaceMultiQueue": True,
        "preferredTPM": {},
    },
    "features": {
        "preferredAcpi": {},
        "preferredApic": {"endOfInterrupt": True},
        "preferredHyperv": {"relaxed": {}, "spinlocks": {"spinlocks": 8191}},
        "preferredKvm": {"hidden": True},
        "preferredPvspinlock": {"enabled": False},
        "preferredSmm": {},
    },
    "firmware": {
        "preferredUseBios": False,
        "preferredUseBiosSerial": False,
        "preferredUseEfi": True,
        "preferredUseSecureBoot": True,
    },
    "machine": {"preferredMachineType": "q35"},
}

CONDITION: dict[str, Any] = {
    "type": "Ready",
    "status": "True",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "reason": "AllWell",
    "message": "nothing to complain about",
}

CASES: list[tuple[type[Model], str, dict[str, Any]]] = [
    (flavor.VirtualMachineFlavor, "flavor.kubevirt.io/v1alpha1", {"spec": FLAVOR_SPEC}),
    (flavor.VirtualMachineClusterFlavor, "flavor.kubevirt.io/v1alpha1", {"spec": FLAVOR_SPEC}),
    (flavor.VirtualMachinePreference, "flavor.kubevirt.io/v1alpha1", {"spec": PREFERENCE_SPEC}),
    (flavor.VirtualMachineClusterPreference, "flavor.kubevirt.io/v1alpha1", {"spec": PREFERENCE_SPEC}),
    (
        cdi.DataVolume,
        "cdi.kubevirt.io/v1beta1",
        {
            "spec": {
                "contentType": "kubevirt",
                "source": {
                    "registry": {"url": "docker://images.example/fedora:42", "platform": {"architecture": "arm64"}}
                },
                "storage": {"resources": {"requests": {"storage": "30Gi"}}, "volumeMode": "Block"},
            },
            "status": {
                "claimName": "sample",
                "phase": "ImportInProgress",
                "progress": "42.0%",
                "restartCount": 1,
                "conditions": [{"type": "Running", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}],
            },
        },
    ),
    (
        cdi.DataSource,
        "cdi.kubevirt.io/v1beta1",
        {
            "spec": {"source": {"dataSource": {"name": "fedora", "namespace": "images"}}},
            "status": {
                "source": {"snapshot": {"name": "fedora-42", "namespace": "images"}},
                "conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}],
            },
        },
    ),
    (
        cdi.UploadTokenRequest,
        "upload.cdi.kubevirt.io/v1beta1",
        {"spec": {"pvcName": "sample"}, "status": {"token": "not-a-real-token"}},
    ),
    (
        snapshot.VolumeSnapshot,
        "snapshot.storage.k8s.io/v1",
        {
            "spec": {"source": {"persistentVolumeClaimName": "root"}, "volumeSnapshotClassName": "fast"},
            "status": {
                "boundVolumeSnapshotContentName": "snapcontent-1",
                "creationTime": "2026-01-01T00:00:00Z",
                "readyToUse": False,
                "restoreSize": "30Gi",
                "error": {"message": "timed out", "time": "2026-01-01T00:01:00Z"},
            },
        },
    ),
    (
        apps.ControllerRevision,
        "apps/v1",
        {
            "data": {"apiVersion": "instancetype.kubevirt.io/v1beta2", "spec": {"cpu": {"guest": 2}}, "none": None},
            "revision": 0,
        },
    ),
    (
        namespace.Namespace,
        "v1",
        {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active", "conditions": [CONDITION]}},
    ),
    (
        claim.PersistentVolumeClaim,
        "v1",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "30Gi"}},
                "storageClassName": "fast",
                "volumeMode": "Block",
                "volumeName": "pv-1",
            },
            "status": {
                "accessModes": ["ReadWriteOnce"],
                "allocatedResources": {"storage": "40Gi"},
                "allocatedResourceStatuses": {"storage": "ControllerResizeInProgress"},
                "capacity": {"storage": "30Gi"},
                "conditions": [CONDITION | {"type": "Resizing", "lastProbeTime": "2026-01-01T00:00:00Z"}],
                "healthStatus": {"healthConditions": [{"status": "Degraded", "reason": "DiskLost"}]},
                "modifyVolumeStatus": {"status": "InProgress", "targetVolumeAttributesClassName": "gold"},
                "phase": "Bound",
            },
        },
    ),
    (config.ConfigMap, "v1", {"data": {"a": "1"}, "binaryData": {"b": "AAE="}, "immutable": True}),
    (config.Secret, "v1", {"data": {"userdata": "I2Nsb3Vk"}, "stringData": {"plain": "text"}, "type": "Opaque"}),
    (
        event.Event,
        "v1",
        {
            "involvedObject": {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "vm", "uid": "u-1"},
            "reason": "Started",
            "message": "started",
            "source": {"component": "vm-controller", "host": "node01"},
            "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:00:05Z",
            "count": 2,
            "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:05.000000Z"},
            "type": "Normal",
            "reportingComponent": "",
            "reportingInstance": "",
        },
    ),
    (
        serviceaccount.ServiceAccount,
        "v1",
        {
            "secrets": [{"name": "token-1"}],
            "imagePullSecrets": [{"name": "registry"}],
            "automountServiceAccountToken": False,
        },
    ),
]


@pytest.mark.parametrize(
    ("struct", "api_version", "body"),
    CASES,
    ids=[f"{api_version} {struct.__name__}" for struct, api_version, _ in CASES],
)
def test_an_object_comes_back_whole(struct: type[Model], api_version: str, body: dict[str, Any]) -> None:
    tree = {"apiVersion": api_version, "kind": struct.__name__, "metadata": {"name": "sample"}, **body}
    assert codec.to_tree(codec.decode(codec.encode(tree), struct)) == tree


@pytest.mark.parametrize(
    ("struct", "required"),
    [
        pytest.param(flavor.VirtualMachineFlavorSpec, ["cpu", "memory"], id="flavor"),
        pytest.param(flavor.CPUFlavor, ["guest"], id="cpu of a flavor"),
        pytest.param(flavor.MemoryFlavor, [], id="memory of a flavor"),
        pytest.param(flavor.VirtualMachinePreferenceSpec, [], id="preference"),
    ],
)
def test_a_struct_requires_what_its_api_requires(struct: type[Model], required: list[str]) -> None:
    assert [field.encode_name for field in msgspec.structs.fields(struct) if field.required] == required
