"""
A fake scheduler, kubelet and CDI for a control plane.

Pods are bound and reported as running, deleted pods are removed, and DataVolumes get claims and succeed.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator

from tests.support.controlplane import ControlPlane

from virtshape.api.model import JsonObject

NODE = "simulated"
LABELS = {"kubevirt.io/schedulable": "true"}
PODS = "/api/v1/pods?labelSelector=kubevirt.io%3Dvirt-launcher"
VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/datavolumes"
PAUSE = 0.1


class Nodes:
    """Advances all pods and DataVolumes of a control plane in a polling loop."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def look(self) -> None:
        """Advance every pod and DataVolume by one step."""
        for path, treat in ((PODS, self._sync_pod), (VOLUMES, self._sync_volume)):
            code, listing = self._plane.request("GET", path)
            for item in listing["items"] if code == 200 else ():
                treat(item)

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

    def _sync_volume(self, volume: JsonObject) -> None:
        metadata, spec = volume["metadata"], volume["spec"]
        if (volume.get("status") or {}).get("phase") == "Succeeded":
            return
        namespace, name = metadata["namespace"], metadata["name"]
        owner = {key: volume[key] for key in ("apiVersion", "kind")} | {"name": name, "uid": metadata["uid"]}
        wanted = {**(spec.get("pvc") or spec.get("storage") or {})}
        wanted.setdefault("accessModes", ["ReadWriteOnce"])
        wanted.setdefault("resources", {"requests": {"storage": "1Gi"}})
        about = {"name": name, "labels": metadata.get("labels"), "ownerReferences": [{**owner, "controller": True}]}
        claim = {"metadata": about, "spec": wanted}
        self._plane.request("POST", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", claim)
        path = f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{namespace}/datavolumes/{name}"
        self._patch(f"{path}/status", {"status": {"phase": "Succeeded", "progress": "100.0%"}})

    def _patch(self, path: str, patch: JsonObject) -> None:
        self._plane.request("PATCH", path, patch, **{"Content-Type": "application/merge-patch+json"})


@contextlib.contextmanager
def run_fake_nodes(plane: ControlPlane) -> Iterator[None]:
    """Run the fake nodes until the block ends."""
    plane.request("POST", "/api/v1/nodes", {"metadata": {"name": NODE, "labels": LABELS}})
    ending = threading.Event()
    worker = threading.Thread(target=_repeat, args=(Nodes(plane).look, ending), name="nodes")
    worker.start()
    try:
        yield
    finally:
        ending.set()
        worker.join()


def _repeat(look: Callable[[], None], ending: threading.Event) -> None:
    while not ending.wait(PAUSE):
        with contextlib.suppress(OSError, json.JSONDecodeError):  # the API server is being restarted
            look()
