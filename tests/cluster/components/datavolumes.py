"""A fake CDI for a cluster: DataVolumes get claims without content, and succeed."""

import contextlib
import json
import threading
from collections.abc import Callable
from http.client import HTTPException

from tests.support.controlplane import ControlPlane

from virtshape.api.model import JsonObject

VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/datavolumes"
PAUSE = 0.1
MERGE = {"Content-Type": "application/merge-patch+json"}


class DataVolumes:
    """Completes all DataVolumes of a cluster; `provision` creates a claim in a namespace."""

    def __init__(self, plane: ControlPlane, provision: Callable[[str, JsonObject], None] | None = None) -> None:
        self._plane = plane
        self._provision = provision or self._create_claim

    def sync(self) -> None:
        """Create a claim for each DataVolume that has not succeeded, and mark the DataVolume as succeeded."""
        code, listing = self._plane.request("GET", VOLUMES)
        for volume in listing["items"] if code == 200 else ():
            if (volume.get("status") or {}).get("phase") != "Succeeded":
                self._complete(volume)

    def _complete(self, volume: JsonObject) -> None:
        metadata, spec = volume["metadata"], volume["spec"]
        namespace, name = metadata["namespace"], metadata["name"]
        owner = {key: volume[key] for key in ("apiVersion", "kind")} | {"name": name, "uid": metadata["uid"]}
        wanted = {**(spec.get("pvc") or spec.get("storage") or {})}
        wanted.setdefault("accessModes", ["ReadWriteOnce"])
        wanted.setdefault("resources", {"requests": {"storage": "1Gi"}})
        about = {"name": name, "labels": metadata.get("labels"), "ownerReferences": [{**owner, "controller": True}]}
        self._provision(namespace, {"metadata": about, "spec": wanted})
        path = f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{namespace}/datavolumes/{name}/status"
        self._plane.request("PATCH", path, {"status": {"phase": "Succeeded", "progress": "100.0%"}}, **MERGE)

    def _create_claim(self, namespace: str, claim: JsonObject) -> None:
        self._plane.request("POST", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", claim)


def repeat(sync: Callable[[], None], ending: threading.Event) -> None:
    """Call `sync` repeatedly until `ending` is set."""
    while not ending.wait(PAUSE):
        with contextlib.suppress(OSError, HTTPException, json.JSONDecodeError):  # the API server is being restarted
            sync()
