"""Resource requests and limits of launcher containers."""

from typing import Any

import pytest
from tests.support.instances import build_vmi

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.controllers.pods.resources import build_resources

GI = {"memory": {"guest": "1Gi"}}
KVM = {"devices.kubevirt.io/kvm": "1"}
DISK = {"ephemeral-storage": "50M"}
PLAIN = {"requests": {"cpu": "100m", "memory": "1294Mi", **DISK, **KVM}, "limits": KVM}

REQUESTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "CPU by allocation ratio, memory with overhead": (GI, PLAIN),
    "memory request of an overcommitting instance type": (
        {**GI, "resources": {"requests": {"memory": "512Mi"}}},
        {**PLAIN, "requests": {**PLAIN["requests"], "memory": "781Mi"}},
    ),
    "overcommitted overhead": (
        {**GI, "resources": {"requests": {"memory": "1Gi"}, "overcommitGuestOverhead": True}},
        {**PLAIN, "requests": {**PLAIN["requests"], "memory": "1Gi"}},
    ),
    "limits with overhead": (
        {**GI, "resources": {"requests": {"memory": "1Gi", "cpu": "1"}, "limits": {"memory": "2Gi", "cpu": "2"}}},
        {
            "requests": {"cpu": "1", "memory": "1294Mi", **DISK, **KVM},
            "limits": {"cpu": "2", "memory": "2318Mi", **KVM},
        },
    ),
    "hugepages for the guest, memory for the overhead": (
        {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}},
        {
            "requests": {"cpu": "100m", "memory": "270Mi", "hugepages-2Mi": "1Gi", **DISK, **KVM},
            "limits": {"hugepages-2Mi": "1Gi", **KVM},
        },
    ),
    "dedicated CPUs": (
        {**GI, "cpu": {"cores": 2, "dedicatedCpuPlacement": True}},
        {
            "requests": {"cpu": "2", "memory": "1402Mi", **DISK, **KVM},
            "limits": {"cpu": "2", "memory": "1402Mi", **KVM},
        },
    ),
    "additional CPU for the emulator": (
        {**GI, "cpu": {"cores": 2, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}},
        {
            "requests": {"cpu": "3", "memory": "1402Mi", **DISK, **KVM},
            "limits": {"cpu": "3", "memory": "1402Mi", **KVM},
        },
    ),
    "one device per entry": (
        {
            **GI,
            "devices": {
                "autoattachVSOCK": True,
                "gpus": [
                    {"name": "a", "deviceName": "example.com/gpu"},
                    {"name": "b", "deviceName": "example.com/gpu"},
                ],
                "hostDevices": [{"name": "c", "deviceName": "example.com/card"}],
            },
        },
        {
            "requests": {
                "cpu": "100m",
                "memory": "2318Mi",
                **DISK,
                **KVM,
                "devices.kubevirt.io/vhost-vsock": "1",
                "example.com/gpu": "2",
                "example.com/card": "1",
            },
            "limits": {
                **KVM,
                "devices.kubevirt.io/vhost-vsock": "1",
                "example.com/gpu": "2",
                "example.com/card": "1",
            },
        },
    ),
    "encryption": (
        {**GI, "launchSecurity": {"snp": {}}},
        {
            "requests": {"cpu": "100m", "memory": "1550Mi", **DISK, **KVM, "devices.kubevirt.io/sev": "1"},
            "limits": {**KVM, "devices.kubevirt.io/sev": "1"},
        },
    ),
}


@pytest.mark.parametrize(("domain", "asked"), REQUESTS.values(), ids=REQUESTS.keys())
def test_pod_requests_and_limits_depend_on_the_guest(domain: dict[str, Any], asked: dict[str, Any]) -> None:
    assert to_tree(build_resources(build_vmi(domain=domain).spec, None)) == asked


CONFIGURED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "configured allocation ratio": (
        {"developerConfiguration": {"cpuAllocationRatio": 3}},
        {**PLAIN, "requests": {**PLAIN["requests"], "cpu": "334m"}},
    ),
    "no KVM device with emulation": (
        {"developerConfiguration": {"useEmulation": True}},
        {"requests": {"cpu": "100m", "memory": "1294Mi", **DISK}},
    ),
}


@pytest.mark.parametrize(("configuration", "asked"), CONFIGURED.values(), ids=CONFIGURED.keys())
def test_pod_resources_depend_on_the_configuration(configuration: dict[str, Any], asked: dict[str, Any]) -> None:
    reported = from_tree(configuration, KubeVirtConfiguration)
    assert to_tree(build_resources(build_vmi(domain=GI).spec, reported)) == asked


def test_even_parity_option_makes_the_number_of_cpus_even() -> None:
    cpu = {"cores": 2, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}
    built = build_resources(build_vmi(domain={**GI, "cpu": cpu}).spec, None, even_parity=True)
    assert (built.requests or {})["cpu"] == "4"
