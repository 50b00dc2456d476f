"""
KubeVirt's functional specs of instance types and preferences against a real control plane.

Guests are pods on fake nodes. tools/kubevirt/build.sh builds the specs from KubeVirt's own code.
"""

import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.cluster.components.installation import Installation
from tests.cluster.components.nodes import NODE, run_fake_nodes
from tests.cluster.install import retry
from tests.support.controlplane import ControlPlane
from tests.support.kubevirt import SPEC_CONFIGURATION, run_specs

from virtshape.api.model import JsonObject

KUBEVIRT: Final = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/kubevirt/deployments"
MERGE: Final = {"Content-Type": "application/merge-patch+json"}
ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
OPERATOR: Final = "virt-operator"
LEFT: Final = (
    f"{DEPLOYMENTS}/{OPERATOR}",
    KUBEVIRT,
    "/apis/instancetype.kubevirt.io/v1beta2/virtualmachineclusterinstancetypes",
    "/apis/instancetype.kubevirt.io/v1beta2/virtualmachineclusterpreferences",
)
"""Objects that the specs and this module create, and that other tests must not find."""


@pytest.fixture
def prepared(installation: Installation) -> Iterator[ControlPlane]:
    """The control plane with controllers, a node and the other objects that the specs expect in a KubeVirt cluster."""
    plane = installation.plane
    with run_fake_nodes(plane), installation.running("controller"):
        architecture = ARCHITECTURES.get(platform.machine(), platform.machine())
        patch(plane, f"/api/v1/nodes/{NODE}/status", {"status": {"nodeInfo": build_node_info(architecture)}})
        retry(lambda: patch(plane, KUBEVIRT, {"spec": {"configuration": SPEC_CONFIGURATION}}))
        code, answer = plane.request("POST", DEPLOYMENTS, build_deployment(OPERATOR))
        assert code == 201, answer
        patch(plane, f"{DEPLOYMENTS}/{OPERATOR}/status", {"status": {"replicas": 1, "readyReplicas": 1}})
        yield plane
        for path in LEFT:
            plane.request("DELETE", path)


def patch(plane: ControlPlane, path: str, change: JsonObject) -> None:
    """Merge a change into an object."""
    code, answer = plane.request("PATCH", path, change, **MERGE)
    assert code == 200, answer


def build_node_info(architecture: str) -> dict[str, str]:
    """Build the part of a node's status that has its architecture; all other fields are required too."""
    fields = (
        "bootID",
        "containerRuntimeVersion",
        "kernelVersion",
        "kubeProxyVersion",
        "kubeletVersion",
        "machineID",
        "operatingSystem",
        "osImage",
        "systemUUID",
    )
    return dict.fromkeys(fields, "") | {"architecture": architecture}


def build_deployment(name: str) -> JsonObject:
    """Build a Deployment; no controller of the control plane creates its pods."""
    labels = {"kubevirt.io": name}
    containers = [{"name": name, "image": name}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


def test_all_kubevirt_specs_pass(prepared: ControlPlane, tmp_path: Path) -> None:
    results = run_specs(prepared.kubeconfig, tmp_path)
    assert len(results.names) > 50, results.output
    assert results.failed == frozenset(), results.output
