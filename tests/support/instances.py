"""
Builders of instances and nodes for controller tests; fields that are not given are unset.

Nested fields are plain JSON; the phases of an instance are given in order.
"""

from typing import Any

from virtshape.api.codec import from_tree
from virtshape.api.core.node import Node
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject

NOW = 1_800_000_000.0
STAMP = "2027-01-15T08:00:00Z"
EARLIER = "2027-01-15T07:59:00Z"
LATER = "2027-01-15T08:01:00Z"


def build_vmi(
    *phases: str,
    uid: str = "i1",
    name: str = "vm1",
    is_deleting: bool = False,
    conditions: list[JsonObject] | None = None,
    annotations: dict[str, str] | None = None,
    domain: JsonObject | None = None,
    **spec: Any,
) -> VirtualMachineInstance:
    """Build an instance that went through these phases and is in the last one."""
    metadata: JsonObject = {"name": name, "namespace": "default", "uid": uid, "annotations": annotations}
    if is_deleting:
        metadata["deletionTimestamp"] = EARLIER
    stamps = [{"phase": phase, "phaseTransitionTimestamp": EARLIER} for phase in phases]
    status = {"phase": phases[-1], "phaseTransitionTimestamps": stamps, "conditions": conditions} if phases else None
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": metadata,
        "spec": {"domain": {"devices": {}, **(domain or {})}, **spec},
        "status": status,
    }
    return from_tree(tree, VirtualMachineInstance)


def build_node(
    name: str = "node1", *, labels: dict[str, str] | None = None, spec: JsonObject | None = None, **has: Any
) -> Node:
    """Build a node with 4 CPUs and 8Gi by default."""
    offered = {"cpu": "4", "memory": "8Gi", **has}
    tree = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": offered},
    }
    return from_tree(tree, Node)


def build_vmi_in_phase(phase: str | None, *, paused: bool = False, **spec: Any) -> VirtualMachineInstance | None:
    """Return an instance in this phase, or None without a phase."""
    if phase is None:
        return None
    conditions = [{"type": "Paused", "status": "True"}] if paused else None
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "vm1", "uid": "u1"},
        "spec": {"domain": {"devices": {}}, **spec},
        "status": {"phase": phase, "conditions": conditions},
    }
    return from_tree(tree, VirtualMachineInstance)
