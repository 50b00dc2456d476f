"""Builders of pods with the status that a kubelet, a scheduler or an eviction writes."""

from typing import Any

from virtshape.api.codec import from_tree
from virtshape.api.core.podspec import Pod
from virtshape.api.model import JsonObject

READY = {"type": "Ready", "status": "True"}


def build_pod(
    phase: str = "Pending",
    *,
    node: str = "",
    state: JsonObject | None = None,
    ready: bool = False,
    started: bool | None = None,
    conditions: list[JsonObject] | None = None,
    is_deleting: bool = False,
    annotations: dict[str, str] | None = None,
    **status: Any,
) -> Pod:
    """Build the pod of an instance; its container has this `state`, and a startup probe if `started` is given."""
    metadata: JsonObject = {
        "name": "virt-launcher-vm1-1",
        "namespace": "default",
        "uid": "p1",
        "annotations": annotations,
    }
    if is_deleting:
        metadata["deletionTimestamp"] = "2027-01-15T07:59:00Z"
    container = {"name": "compute", "image": "i", "imageID": "", "restartCount": 0, "state": state}
    container |= {"ready": ready, "started": started}
    probes: JsonObject = {"startupProbe": {}} if started is not None else {}
    tree = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "compute", **probes}], "nodeName": node or None},
        "status": {
            "phase": phase,
            "conditions": conditions,
            "containerStatuses": [container] if state is not None else None,
            **status,
        },
    }
    return from_tree(tree, Pod)


def ended(code: int = 1, **more: Any) -> JsonObject:
    """Return the state of a terminated container."""
    return {"terminated": {"exitCode": code, **more}}


def waiting(reason: str, message: str = "") -> JsonObject:
    """Return the state of a waiting container."""
    return {"waiting": {"reason": reason, "message": message or None}}


RUNNING: JsonObject = {"running": {}}
