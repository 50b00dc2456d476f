"""
KubeVirt's functional specs of instance types and preferences on a node, with guests in real pods.

The node has no CDI and no registry: claims of DataVolumes are empty directories, and a policy of the cluster replaces
the container disks of the specs with the demo guest's disk.
"""

import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.cluster.components.datavolumes import DataVolumes, repeat
from tests.node.guests import build_volume
from tests.support.demoguests import DEMO
from tests.support.kubectl import Kubectl
from tests.support.kubevirt import SpecResults, run_specs
from tools.node.configuration import PAUSE
from tools.node.node import NAME, Node

from virtshape.api.model import JsonObject
from virtshape.controllers.pods.build import GUEST_USER

POLICY_VERSION = "admissionregistration.k8s.io/v1"
DISKS = "spec-disks"
VOLUMES = "object.spec.template.spec.?volumes.orValue([])"
REPLACE = (
    f"{VOLUMES}.size() == 0 || !has({VOLUMES}[0].containerDisk) ? [] : [JSONPatch{{op: 'replace', "
    f"path: '/spec/template/spec/volumes/0/containerDisk/image', value: '{DEMO}'}}]"
)
OPERATOR = "virt-operator"


@contextlib.contextmanager
def run_kubevirt_specs(node: Node, cluster: Kubectl, directory: Path) -> Iterator[Future[SpecResults]]:
    """Prepare the cluster and run the specs in the background; yield their future results."""
    cluster.apply(*build_policy(), build_operator())
    cluster("label", "node", NAME, "kubevirt.io/schedulable=true", "cpumanager=true")
    cluster.in_namespace("kubevirt")("wait", f"deployment/{OPERATOR}", "--for=condition=Available", "--timeout=240s")
    ending = threading.Event()
    with ThreadPoolExecutor() as executor:
        executor.submit(repeat, DataVolumes(node.plane, partial(provision, node)).sync, ending)
        try:
            yield executor.submit(run_specs, node.kubeconfig, directory)
        finally:
            ending.set()


def provision(node: Node, namespace: str, claim: JsonObject) -> None:
    """Create a volume with an empty directory of the node, and a claim that is bound to it."""
    (owner,) = claim["metadata"]["ownerReferences"]
    directory = node.directory / "claims" / owner["uid"]
    directory.mkdir(parents=True, exist_ok=True)
    os.chown(directory, GUEST_USER, GUEST_USER)
    volume, bound = build_volume(owner["uid"], owner["name"], directory, 1024**3, block=False)
    node.plane.request("POST", "/api/v1/persistentvolumes", volume)
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
    node.plane.request("POST", path, {**bound, "metadata": claim["metadata"]})


def build_policy() -> list[JsonObject]:
    """Return a policy that replaces the container disk of new VMs, and its binding."""
    rule = {"apiGroups": ["kubevirt.io"], "apiVersions": ["v1"], "operations": ["CREATE"]}
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [{**rule, "resources": ["virtualmachines"]}]},
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": REPLACE}}],
    }
    metadata = {"name": DISKS}
    return [
        {"apiVersion": POLICY_VERSION, "kind": "MutatingAdmissionPolicy", "metadata": metadata, "spec": spec},
        {
            "apiVersion": POLICY_VERSION,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": {"policyName": DISKS},
        },
    ]


def build_operator() -> JsonObject:
    """Return a Deployment with the name of KubeVirt's operator; the specs wait for its pods."""
    labels = {"kubevirt.io": OPERATOR}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": OPERATOR, "image": PAUSE}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": OPERATOR, "namespace": "kubevirt"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
