"""
A fake scheduler, kubelet and CDI for a control plane.

Pods are bound and reported as running, deleted pods are removed, and DataVolumes get claims and succeed.
"""

import contextlib
import threading
from collections.abc import Iterator

from tests.cluster.components.datavolumes import DataVolumes, repeat
from tests.support.controlplane import ControlPlane

from virtshape.api.model import JsonObject

NODE = "simulated"
LABELS = {"kubevirt.io/schedulable": "true"}
PODS = "/api/v1/pods?labelSelector=kubevirt.io%3Dvirt-launcher"


class Nodes:
    """Binds, runs and removes all pods of a control plane, and completes its DataVolumes."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._volumes = DataVolumes(plane)

    def sync(self) -> None:
        """Bind, run or remove each pod, and complete each DataVolume."""
        code, listing = self._plane.request("GET", PODS)
        for pod in listing["items"] if code == 200 else ():
            self._sync_pod(pod)
        self._volumes.sync()

    def _sync_pod(self, pod: JsonObject) -> None:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        if pod["metadata"].get("deletionTimestamp"):
            self._plane.request("DELETE", path, {"gracePeriodSeconds": 0})
        elif not pod["spec"].get("nodeName"):
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            self._plane.request(
                "POST", f"{path}/binding", {"metadata": {"name": pod["metadata"]["name"]}, "target": target}
            )
        elif pod["status"].get("phase") == "Pending":
            container = {"name": "compute", "image": "", "imageID": "", "restartCount": 0, "ready": True}
            state = {"running": {"startedAt": "2027-01-15T08:00:00Z"}}
            status = {"phase": "Running", "podIP": "10.1.2.3", "containerStatuses": [{**container, "state": state}]}
            self._patch(f"{path}/status", {"status": status})

    def _patch(self, path: str, patch: JsonObject) -> None:
        self._plane.request("PATCH", path, patch, **{"Content-Type": "application/merge-patch+json"})


@contextlib.contextmanager
def run_fake_nodes(plane: ControlPlane) -> Iterator[None]:
    """Run the fake nodes until the block ends."""
    plane.request("POST", "/api/v1/nodes", {"metadata": {"name": NODE, "labels": LABELS}})
    ending = threading.Event()
    worker = threading.Thread(target=repeat, args=(Nodes(plane).sync, ending), name="nodes")
    worker.start()
    try:
        yield
    finally:
        ending.set()
        worker.join()
