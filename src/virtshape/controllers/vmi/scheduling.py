"""
Placement of instances: on nodes of local launchers, or delegated to the cluster's scheduler.

The cache is only read, and nothing is written.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import Struct

from virtshape.api.core.node import Node
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.wellknown import KUBEVIRT
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.loop import Name
from virtshape.controllers.vmi.capacity import allocate_instances, is_schedulable
from virtshape.controllers.vmi.launcher import Launcher
from virtshape.controllers.vmi.nodefit import Allocations, check_fit, explain_unschedulable, measure_demand
from virtshape.controllers.vmi.phases import is_refused

NODE_RECHECK_SECONDS: Final = 1.0
CLUSTER_RECHECK_SECONDS: Final = 30.0


class NodeNotReady(Struct, frozen=True):
    """Why a node cannot run instances at the moment."""

    message: str
    is_failure: bool = False


LAUNCHER_STARTING: Final = NodeNotReady("the launcher is starting")


class PlacementResult(Struct, frozen=True):
    """The node for an instance, or why there is none; both fields are empty if the cluster schedules the instance."""

    node: str = ""
    message: str = ""
    is_starting: bool = False
    """True if a node is expected soon, so that the missing node is not an error."""


class Placement(Protocol):
    """Selects nodes and launchers for instances."""

    recheck_seconds: float
    """Delay before a guest in a transitional state is checked again."""

    def place(self, name: Name, vmi: VirtualMachineInstance) -> PlacementResult:
        """Select a node for an instance and reserve its resources there."""

    def find_launcher(self, name: Name, vmi: VirtualMachineInstance) -> Launcher | None:
        """Return the launcher of a scheduled instance, or None."""

    def is_lost(self, vmi: VirtualMachineInstance) -> bool:
        """Return True if the instance's node no longer exists."""

    def is_node_not_ready(self, vmi: VirtualMachineInstance) -> bool:
        """Return True if the launcher of the instance's node is not running, so that its guests cannot be stopped."""

    def release(self, name: Name) -> set[Name]:
        """Release the instance's resources; return the instances that wait for a node."""


class NodePlacement:
    """Places instances on the nodes of launchers; `no_launcher_reason` explains why there is no launcher."""

    recheck_seconds = NODE_RECHECK_SECONDS

    def __init__(
        self,
        cache: Cache,
        launchers: Mapping[str, Launcher],
        no_launcher_reason: str = "",
        *,
        not_ready: Mapping[str, NodeNotReady] | None = None,
    ) -> None:
        """Set up the placement; `not_ready` contains the nodes whose launcher is not running, and may change later."""
        self._cache = cache
        self._launchers = launchers
        self._no_launcher_reason = no_launcher_reason
        self._not_ready = not_ready if not_ready is not None else {}
        self._allocations: Allocations | None = None
        self._unplaced: set[Name] = set()

    def place(self, name: Name, vmi: VirtualMachineInstance) -> PlacementResult:
        """Select the first node on which the instance fits, and reserve its resources; if there is none, return why."""
        allocations = self._get_allocations()
        demand = measure_demand(vmi.spec, self._configuration())
        reasons = {node: [f"is not ready: {not_ready.message}"] for node, not_ready in self._not_ready.items()}
        for node in self._list_nodes():
            node_name = node.metadata.name or ""
            if node_name in self._not_ready:
                continue
            reasons[node_name] = check_fit(demand, node, allocations.used(node_name))
            if not reasons[node_name]:
                allocations.place(str(name), node_name, demand)
                self._unplaced.discard(name)
                return PlacementResult(node_name)
        self._unplaced.add(name)
        is_starting = any(not not_ready.is_failure for not_ready in self._not_ready.values())
        return PlacementResult(
            message=explain_unschedulable(reasons, self._no_launcher_reason), is_starting=is_starting
        )

    def find_launcher(self, name: Name, vmi: VirtualMachineInstance) -> Launcher | None:
        """Return the launcher of the instance's node, or None; count the instance's resources on the node."""
        node = (vmi.status.node_name if vmi.status else None) or ""
        if node and not is_refused(vmi):
            self._get_allocations().place(str(name), node, measure_demand(vmi.spec, self._configuration()))
        return self._launchers.get(node)

    def is_lost(self, vmi: VirtualMachineInstance) -> bool:
        """Return True if the instance's node has no Node object; a node that exists but is not ready is not lost."""
        node = (vmi.status.node_name if vmi.status else None) or ""
        return node not in self._not_ready and self._cache.find(Node, node) is None

    def is_node_not_ready(self, vmi: VirtualMachineInstance) -> bool:
        """Return True if the launcher of the instance's node is not running."""
        return ((vmi.status.node_name if vmi.status else None) or "") in self._not_ready

    def release(self, name: Name) -> set[Name]:
        """Release the instance's resources on its node; return the instances that wait for a node."""
        self._get_allocations().release(str(name))
        self._unplaced.discard(name)
        return set(self._unplaced)

    def _get_allocations(self) -> Allocations:
        """Return the allocations on all nodes, which are computed from all instances on first use."""
        if self._allocations is None:
            self._allocations = allocate_instances(self._cache.list(VirtualMachineInstance), self._configuration())
        return self._allocations

    def _list_nodes(self) -> list[Node]:
        return [node for node in self._cache.list(Node) if is_schedulable(node)]

    def _configuration(self) -> KubeVirtConfiguration | None:
        installed = self._cache.find(KubeVirt, KUBEVIRT, KUBEVIRT)
        return installed.spec.configuration if installed is not None and installed.spec is not None else None


class ClusterPlacement:
    """Leaves scheduling to the launcher; without a launcher, instances wait, for `no_launcher_reason`."""

    recheck_seconds = CLUSTER_RECHECK_SECONDS

    def __init__(self, launcher: Launcher | None, no_launcher_reason: str = "") -> None:
        self._launcher = launcher
        self._no_launcher_reason = no_launcher_reason

    def place(self, name: Name, vmi: VirtualMachineInstance) -> PlacementResult:
        """Return an empty result, because the cluster selects the node; without a launcher, return the reason."""
        del name, vmi
        return (
            PlacementResult()
            if self._launcher is not None
            else PlacementResult(message=explain_unschedulable({}, self._no_launcher_reason))
        )

    def find_launcher(self, name: Name, vmi: VirtualMachineInstance) -> Launcher | None:
        """Return the only launcher, or None."""
        del name, vmi
        return self._launcher

    def is_lost(self, vmi: VirtualMachineInstance) -> bool:
        """Return False: the launcher reports lost nodes."""
        del vmi
        return False

    def is_node_not_ready(self, vmi: VirtualMachineInstance) -> bool:
        """Return False: the launcher is in this process."""
        del vmi
        return False

    def release(self, name: Name) -> set[Name]:
        """Return an empty set, because the cluster counts resources."""
        del name
        return set()
