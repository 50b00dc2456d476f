"""Memory overhead of guests."""

from typing import Any

import pytest
from tests.support.instances import build_vmi

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.controllers.pods.overhead import MI, measure_overhead

GI = {"memory": {"guest": "1Gi"}}
PLAIN = (2 + 220 + 8 + 8 + 32) * MI

COSTS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "1Gi and one vCPU": (GI, {}, PLAIN),
    "memory request with overcommit": (
        {**GI, "resources": {"requests": {"memory": "512Mi"}}},
        {},
        PLAIN - MI,
    ),
    "several vCPUs": ({**GI, "cpu": {"sockets": 2, "cores": 2}}, {}, PLAIN + 24 * MI),
    "without graphics": ({**GI, "devices": {"autoattachGraphicsDevice": False}}, {}, PLAIN - 32 * MI),
    "arm64 firmware": (GI, {"architecture": "arm64"}, PLAIN + 128 * MI),
    "a GPU": ({**GI, "devices": {"gpus": [{"name": "g", "deviceName": "x/y"}]}}, {}, PLAIN + 1024 * MI),
    "a TPM": ({**GI, "devices": {"tpm": {}}}, {}, PLAIN + 53 * MI),
    "disabled TPM": ({**GI, "devices": {"tpm": {"enabled": False}}}, {}, PLAIN),
    "encrypted memory": ({**GI, "launchSecurity": {"sev": {}}}, {}, PLAIN + 256 * MI),
    "dedicated CPUs": ({**GI, "cpu": {"dedicatedCpuPlacement": True}}, {}, PLAIN + 100 * MI),
    "guaranteed QoS": (
        {**GI, "resources": {k: {"cpu": "1", "memory": "1Gi"} for k in ("requests", "limits")}},
        {},
        PLAIN + 100 * MI,
    ),
    "exec probes": (
        GI,
        {"livenessProbe": {"exec": {"command": ["true"]}}, "readinessProbe": {"exec": {"command": ["true"]}}},
        PLAIN + 120 * MI,
    ),
    "downward metrics": (GI, {"volumes": [{"name": "m", "downwardMetrics": {}}]}, PLAIN + MI),
}


@pytest.mark.parametrize(("domain", "spec", "cost"), COSTS.values(), ids=COSTS.keys())
def test_memory_overhead_depends_on_guest_features(domain: dict[str, Any], spec: dict[str, Any], cost: int) -> None:
    assert measure_overhead(build_vmi(domain=domain, **spec).spec) == cost


def test_configured_ratio_raises_the_memory_overhead() -> None:
    configuration = from_tree({"additionalGuestMemoryOverheadRatio": "1.5"}, KubeVirtConfiguration)
    assert measure_overhead(build_vmi(domain=GI).spec, configuration) == PLAIN * 3 // 2
