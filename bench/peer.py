"""
The baseline for our results: etcd and kube-apiserver under the same load, on the same machine, in the same run.

They have our CRDs and no webhooks or controllers for them. Writes are durable before the response, as with ours.
"""

import json
import pathlib
import time
from typing import Any

from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import Binaries, find_binaries

from bench.running import aim_load
from virtshape.cluster.manifests.build import build_parts
from virtshape.cluster.manifests.options import Options

ACCOUNT = "/api/v1/namespaces/default/serviceaccounts"
BINDING = {
    "metadata": {"name": "bench"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"kind": "ServiceAccount", "name": "bench", "namespace": "default"}],
}


def measure_peer(load: pathlib.Path, directory: pathlib.Path, phases: str) -> dict[str, Any]:
    """Return the results of each phase; empty if the binaries are missing."""
    binaries = find_binaries()
    if not isinstance(binaries, Binaries):
        print(f"  baseline not measured: {binaries}")
        return {}
    results = directory / "peer.json"
    with ControlPlane(binaries, directory / "peer", with_controllers=False, durable=True) as plane:
        define_kinds(plane)
        pids = ",".join(f"{child.name}={child.pid}" for child in (plane.etcd, plane.apiserver))
        aim_load(load, plane.url, issue_token(plane), pids, "--phases", phases, "--out", str(results))
    found: dict[str, Any] = json.loads(results.read_text())["results"]
    return found


def define_kinds(plane: ControlPlane) -> None:
    """Create all our CRDs and wait until they are served."""
    for tree in build_parts(Options(cdi=True))["crds"]:
        plain = {**tree, "spec": {**tree["spec"], "conversion": {"strategy": "None"}}}
        insist(plane.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", plain))
    while plane.request("GET", "/apis/kubevirt.io/v1/virtualmachines")[0] != 200:
        time.sleep(0.2)


def issue_token(plane: ControlPlane) -> str:
    """Return a token with cluster-admin permissions."""
    insist(plane.request("POST", ACCOUNT, {"metadata": {"name": "bench"}}))
    insist(plane.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", BINDING))
    token: str = insist(plane.request("POST", f"{ACCOUNT}/bench/token", {"spec": {}}))["status"]["token"]
    return token


def insist(answer: tuple[int, Any]) -> Any:
    """Return the created object; raise if the request failed."""
    code, made = answer
    if code != 201:
        raise RuntimeError(f"{code}: {made}")
    return made
