"""
Peers to compare with: etcd and kube-apiserver under the same load, without and with KubeVirt's virt-api.

Without virt-api, kube-apiserver has our CRDs and no webhooks. With virt-api, it has KubeVirt's CRDs, webhooks and
default configuration. There are no controllers. Writes are durable before the response, as in virtshape.
"""

import contextlib
import json
import pathlib
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.support.controlplane import Child, ControlPlane
from tests.support.controlplanebinaries import Binaries, find_binaries
from tests.support.kubevirt import find_built
from tests.support.virtapi import run_virt_api

from bench.running import aim_load, resident_megabytes
from virtshape.cluster.manifests.build import build_parts
from virtshape.cluster.manifests.options import Options

ACCOUNT = "/api/v1/namespaces/default/serviceaccounts"
BINDING = {
    "metadata": {"name": "bench"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"kind": "ServiceAccount", "name": "bench", "namespace": "default"}],
}


class LoadResults(NamedTuple):
    """The results of each phase, the seconds until ready, and the resident memory before and after the load in MB."""

    phases: dict[str, Any]
    seconds: float
    idle: float
    loaded: float


def measure_peer(load: pathlib.Path, directory: pathlib.Path, phases: str, *, kubevirt: bool) -> LoadResults | None:
    """Load kube-apiserver, with virt-api if `kubevirt` is set; return the results, or None if a program is missing."""
    binaries, virt_api = find_binaries(), find_built("virt-api")
    if not isinstance(binaries, Binaries):
        print(f"  kube-apiserver not measured: {binaries}")
        return None
    if kubevirt and virt_api is None:
        print("  virt-api not measured: tools/kubevirt/build.sh builds it with Go")
        return None
    begin, results = time.perf_counter(), directory / "peer.json"
    with contextlib.ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(binaries, directory, with_controllers=False, durable=True))
        children = stack.enter_context(run_admission(plane, virt_api if kubevirt else None))
        seconds = time.perf_counter() - begin
        pids = {child.name: child.pid for child in children}
        idle = sum(map(resident_megabytes, pids.values()))
        names = ",".join(f"{name}={pid}" for name, pid in pids.items())
        aim_load(load, plane.url, issue_token(plane), names, "--phases", phases, "--out", str(results))
        loaded = sum(map(resident_megabytes, pids.values()))
    return LoadResults(json.loads(results.read_text())["results"], seconds, idle, loaded)


@contextlib.contextmanager
def run_admission(plane: ControlPlane, virt_api: pathlib.Path | None) -> Iterator[list[Child]]:
    """Run virt-api, or only create our CRDs if `virt_api` is None; yield all server processes."""
    if virt_api is None:
        define_kinds(plane)
        yield [plane.etcd, plane.apiserver]
        return
    with run_virt_api(plane, virt_api.parent) as child:
        yield [plane.etcd, plane.apiserver, child]


def define_kinds(plane: ControlPlane) -> None:
    """Create all our CRDs and wait until VMs are served."""
    for tree in build_parts(Options(cdi=True))["crds"]:
        plain = {**tree, "spec": {**tree["spec"], "conversion": {"strategy": "None"}}}
        require_success(plane.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", plain))
    while plane.request("GET", "/apis/kubevirt.io/v1/virtualmachines")[0] != 200:
        time.sleep(0.2)


def issue_token(plane: ControlPlane) -> str:
    """Return a token with cluster-admin permissions."""
    require_success(plane.request("POST", ACCOUNT, {"metadata": {"name": "bench"}}))
    require_success(plane.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", BINDING))
    token: str = require_success(plane.request("POST", f"{ACCOUNT}/bench/token", {"spec": {}}))["status"]["token"]
    return token


def require_success(answer: tuple[int, Any]) -> Any:
    """Return the created object; raise RuntimeError if the request failed."""
    code, made = answer
    if code != 201:
        raise RuntimeError(f"{code}: {made}")
    return made
