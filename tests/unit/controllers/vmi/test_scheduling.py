"""Placement of instances on nodes or by the cluster."""

from typing import Any

from tests.support.caches import FakeCache
from tests.support.instances import build_node, build_vmi

from virtshape.api.wellknown import SCHEDULABLE_LABEL
from virtshape.client.resources import metadata_of
from virtshape.controllers.runtime.loop import Name
from virtshape.controllers.vmi.launcher import SimulatedLauncher
from virtshape.controllers.vmi.scheduling import (
    LAUNCHER_STARTING,
    ClusterPlacement,
    NodeNotReady,
    NodePlacement,
    PlacementResult,
)

NAME = Name("default", "vm1")
OTHER = Name("default", "vm2")
LABELS = {SCHEDULABLE_LABEL: "true"}
HALF: dict[str, Any] = {"domain": {"memory": {"guest": "5Gi"}}}
REFUSED = {"type": "Synchronized", "status": "False", "reason": "NotPossibleHere"}


def test_node_accepts_instances_until_it_is_full() -> None:
    placement = NodePlacement(FakeCache(build_node(labels=LABELS)), {"node1": SimulatedLauncher()})
    assert placement.place(NAME, build_vmi(**HALF)) == PlacementResult("node1")
    message = placement.place(OTHER, build_vmi(name="vm2", **HALF)).message
    assert message == "0/1 nodes are available: node1 has 3Gi of memory left, 5Gi needed"
    assert placement.release(NAME) == {OTHER}
    assert placement.place(OTHER, build_vmi(name="vm2", **HALF)) == PlacementResult("node1")
    assert placement.release(OTHER) == set()


def test_existing_instances_count_towards_node_capacity() -> None:
    there = build_vmi("Running", name="vm2", **HALF)
    assert there.status is not None
    there.status.node_name = "node1"
    placement = NodePlacement(FakeCache(build_node(labels=LABELS), there), {})
    assert placement.place(NAME, build_vmi(**HALF)).message


def test_instance_on_a_deleted_node_is_lost() -> None:
    there = build_vmi("Running")
    assert there.status is not None
    there.status.node_name = "node1"
    assert NodePlacement(FakeCache(), {}).is_lost(there)
    assert not NodePlacement(FakeCache(build_node()), {}).is_lost(there)


def test_cluster_placement_needs_no_node() -> None:
    launcher = SimulatedLauncher()
    placement = ClusterPlacement(launcher)
    assert placement.place(NAME, build_vmi()) == PlacementResult()
    assert placement.find_launcher(NAME, build_vmi()) is launcher
    assert not placement.is_lost(build_vmi("Running"))
    assert placement.release(NAME) == set()


def test_cluster_placement_without_a_launcher_reports_the_reason() -> None:
    placement = ClusterPlacement(None, "no launcher is running")
    assert placement.place(NAME, build_vmi()).message == "no node runs instances: no launcher is running"
    assert not placement.is_lost(build_vmi("Running"))


def test_refused_instance_does_not_count_towards_node_capacity() -> None:
    refused = build_vmi("Scheduled", name="vm2", conditions=[REFUSED], **HALF)
    assert refused.status is not None
    refused.status.node_name = "node1"
    launcher = SimulatedLauncher()
    placement = NodePlacement(FakeCache(build_node(labels=LABELS), refused), {"node1": launcher})
    assert placement.find_launcher(OTHER, refused) is launcher
    assert placement.place(NAME, build_vmi(**HALF)) == PlacementResult("node1")


def test_simulated_node_has_the_standard_labels() -> None:
    labels = metadata_of(SimulatedLauncher().describe_node("2026-01-01T00:00:00Z")).labels or {}
    well_known = {name: value for name, value in labels.items() if name.startswith("kubernetes.io/")}
    assert well_known == {
        "kubernetes.io/hostname": "simulated",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
    }


def test_placement_reports_why_the_launcher_of_a_node_is_not_ready() -> None:
    not_ready = {"node1": LAUNCHER_STARTING}
    there = build_vmi("Running", name="vm2")
    assert there.status is not None
    there.status.node_name = "node1"
    placement = NodePlacement(FakeCache(build_node(labels=LABELS)), {}, not_ready=not_ready)
    starting = placement.place(NAME, build_vmi())
    assert starting == PlacementResult(
        message="0/1 nodes are available: node1 is not ready: the launcher is starting", is_starting=True
    )
    not_ready["node1"] = NodeNotReady("no QEMU", is_failure=True)
    assert placement.place(NAME, build_vmi()) == PlacementResult(
        message="0/1 nodes are available: node1 is not ready: no QEMU"
    )
    assert placement.is_node_not_ready(there)
    assert not placement.is_node_not_ready(build_vmi())
    del not_ready["node1"]
    assert placement.place(NAME, build_vmi()) == PlacementResult("node1")
    assert not placement.is_node_not_ready(there)


def test_instance_is_not_lost_while_the_launcher_of_its_node_is_starting() -> None:
    there = build_vmi("Running")
    assert there.status is not None
    there.status.node_name = "node1"
    assert not NodePlacement(FakeCache(), {}, not_ready={"node1": LAUNCHER_STARTING}).is_lost(there)
    assert NodePlacement(FakeCache(), {}).is_lost(there)
