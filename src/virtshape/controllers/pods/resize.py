"""
In-place resize of launcher pods: build the patch for a pod, and check whether its node has applied it.

The functions are pure. Only CPU and memory can be resized; Kubernetes rejects changes to other resources.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from virtshape.api.core.container import ResourceRequirements
from virtshape.api.core.podspec import Pod
from virtshape.api.core.podstatus import PodCondition, PodStatus
from virtshape.api.model import JsonObject
from virtshape.api.quantity import Quantity
from virtshape.controllers.pods.naming import CONTAINER

SUBRESOURCE: Final = "resize"
_RESOURCES: Final = ("cpu", "memory")
_PENDING: Final = "PodResizePending"
_IN_PROGRESS: Final = "PodResizeInProgress"
_ERROR: Final = "Error"

Amounts = Mapping[str, Quantity]


class ResizeProgress(NamedTuple):
    """Whether the node has applied new resources and, if it has not, the reason that it reports, if any."""

    is_done: bool
    problem: str = ""


def build_resize_patch(pod: Pod, wanted: ResourceRequirements) -> JsonObject | None:
    """Return a strategic merge patch for the pod's resources; None if its spec already contains these resources."""
    found = next((one for one in (pod.spec.containers if pod.spec else ()) if one.name == CONTAINER), None)
    if _has_resources(found.resources if found is not None else None, wanted):
        return None
    resources = {"requests": _select(wanted.requests), "limits": _select(wanted.limits)}
    changes = {name: amounts for name, amounts in resources.items() if amounts}
    return {"spec": {"containers": [{"name": CONTAINER, "resources": changes}]}}


def read_resize_progress(pod: Pod, wanted: ResourceRequirements) -> ResizeProgress:
    """Return whether the node has applied the wanted resources, which the pod's spec already contains."""
    status = pod.status or PodStatus()
    pending = _find_condition(pod, status, _PENDING)
    if pending is not None:
        return ResizeProgress(is_done=False, problem=f"{pending.reason}: {pending.message}")
    resizing = _find_condition(pod, status, _IN_PROGRESS)
    if resizing is not None:
        problem = resizing.message or _ERROR if resizing.reason == _ERROR else ""
        return ResizeProgress(is_done=False, problem=problem)
    container = next((one for one in status.container_statuses or () if one.name == CONTAINER), None)
    return ResizeProgress(_has_resources(container.resources if container is not None else None, wanted))


def _find_condition(pod: Pod, status: PodStatus, name: str) -> PodCondition | None:
    """Return a condition that is true and does not refer to an earlier spec of the pod."""
    found = next((one for one in status.conditions or () if one.type == name and one.status == "True"), None)
    if found is None or (found.observed_generation or 0) < (pod.metadata.generation or 0):
        return None
    return found


def _has_resources(found: ResourceRequirements | None, wanted: ResourceRequirements) -> bool:
    return (
        found is not None
        and _includes(found.requests, _select(wanted.requests))
        and _includes(found.limits, _select(wanted.limits))
    )


def _includes(found: Amounts | None, wanted: Amounts) -> bool:
    return all(name in (found or {}) and (found or {})[name].same_as(amount) for name, amount in wanted.items())


def _select(amounts: Amounts | None) -> dict[str, Quantity]:
    return {name: amount for name, amount in (amounts or {}).items() if name in _RESOURCES}
