"""
Where instances run: on nodes that launchers here have, or wherever a launcher finds a place by itself.

Reads what is at hand, and writes nothing.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import Struct

from virtshape.api.core.node import Node
from virtshape.api.kubevirt.configuration import KubeVirt, KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.meta import ObjectMeta
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.loop import Name
from virtshape.controllers.vm.runstrategy import is_final
from virtshape.controllers.vmi.launcher import SCHEDULABLE_LABEL, Launcher
from virtshape.controllers.vmi.nodefit import Ledger, check_fit, explain_lacks, measure_demand
from virtshape.controllers.vmi.phases import is_refused

NODE_PATIENCE_SECONDS: Final = 1.0
ROAMING_PATIENCE_SECONDS: Final = 30.0


class Unready(Struct, frozen=True):
    """Why a node takes no instances at the moment."""

    message: str
    is_failure: bool = False


LAUNCHER_STARTING: Final = Unready("the launcher is starting")


class Spot(Struct, frozen=True):
    """A node for an instance, or why there is none; neither where the launcher finds one itself."""

    node: str = ""
    lacks: str = ""
    is_starting: bool = False
    """Whether a node will be there soon, so that nothing is wrong yet."""


class Placement(Protocol):
    """Knows where instances are to run, and what runs them there."""

    patience: float
    """Seconds after which to look again at a guest of which something is expected."""

    def find_spot(self, name: Name, vmi: VirtualMachineInstance) -> Spot:
        """Where an instance is to run that runs nowhere yet; it is counted there from now on."""

    def find_launcher(self, name: Name, vmi: VirtualMachineInstance) -> Launcher | None:
        """What runs an instance that has its place."""

    def is_lost(self, vmi: VirtualMachineInstance) -> bool:
        """Whether the node is gone that the instance was on."""

    def is_unready(self, vmi: VirtualMachineInstance) -> bool:
        """Return True if the launcher of the instance's node is not running, so that guests there cannot be stopped."""

    def release(self, name: Name) -> set[Name]:
        """Count an instance no more; those that found no place, which may find one now."""


class NodePlacement:
    """Places instances on the nodes that launchers have; `absence` says why there are none, if there are none."""

    patience = NODE_PATIENCE_SECONDS

    def __init__(
        self,
        cache: Cache,
        launchers: Mapping[str, Launcher],
        absence: str = "",
        *,
        unready: Mapping[str, Unready] | None = None,
    ) -> None:
        """`unready` are nodes whose launcher is not running, with the reason; the caller may change it."""
        self._cache = cache
        self._launchers = launchers
        self._absence = absence
        self._unready = unready if unready is not None else {}
        self._ledger: Ledger | None = None
        self._unplaced: set[Name] = set()

    def find_spot(self, name: Name, vmi: VirtualMachineInstance) -> Spot:
        """The first node that takes the instance."""
        ledger = self._open_ledger()
        demand = measure_demand(vmi.spec, self._configuration())
        lacks = {node: [f"is not ready: {unready.message}"] for node, unready in self._unready.items()}
        for node in self._list_nodes():
            node_name = (node.metadata.name if node.metadata else None) or ""
            if node_name in self._unready:
                continue
            lacks[node_name] = check_fit(demand, node, ledger.used(node_name))
            if not lacks[node_name]:
                ledger.place(str(name), node_name, demand)
                self._unplaced.discard(name)
                return Spot(node_name)
        self._unplaced.add(name)
        is_starting = any(not unready.is_failure for unready in self._unready.values())
        return Spot(lacks=explain_lacks(lacks, self._absence), is_starting=is_starting)

    def find_launcher(self, name: Name, vmi: VirtualMachineInstance) -> Launcher | None:
        """The launcher of the instance's node."""
        node = (vmi.status.node_name if vmi.status else None) or ""
        if node and not is_refused(vmi):
            self._open_ledger().place(str(name), node, measure_demand(vmi.spec, self._configuration()))
        return self._launchers.get(node)

    def is_lost(self, vmi: VirtualMachineInstance) -> bool:
        """Whether the server knows the instance's node no more."""
        node = (vmi.status.node_name if vmi.status else None) or ""
        return node not in self._unready and self._cache.find(Node, node) is None

    def is_unready(self, vmi: VirtualMachineInstance) -> bool:
        """Return True if the launcher of the instance's node is not running."""
        return ((vmi.status.node_name if vmi.status else None) or "") in self._unready

    def release(self, name: Name) -> set[Name]:
        """Give the instance's share of its node back."""
        self._open_ledger().release(str(name))
        self._unplaced.discard(name)
        return set(self._unplaced)

    def _open_ledger(self) -> Ledger:
        """What is taken of all nodes; on the first time, by all instances there are."""
        if self._ledger is None:
            self._ledger = Ledger()
            for vmi in self._cache.list(VirtualMachineInstance):
                metadata, node = vmi.metadata or ObjectMeta(), vmi.status.node_name if vmi.status else None
                if node and not is_final(vmi) and not is_refused(vmi):
                    key = Name(metadata.namespace or "", metadata.name or "")
                    self._ledger.place(str(key), node, measure_demand(vmi.spec, self._configuration()))
        return self._ledger

    def _list_nodes(self) -> list[Node]:
        return [
            node
            for node in self._cache.list(Node)
            if node.metadata is not None and (node.metadata.labels or {}).get(SCHEDULABLE_LABEL) == "true"
        ]

    def _configuration(self) -> KubeVirtConfiguration | None:
        installed = self._cache.find(KubeVirt, "kubevirt", "kubevirt")
        return installed.spec.configuration if installed is not None and installed.spec is not None else None


class Roaming:
    """Leaves it to a launcher to find places; without one, instances wait, and `absence` says why."""

    patience = ROAMING_PATIENCE_SECONDS

    def __init__(self, launcher: Launcher | None, absence: str = "") -> None:
        self._launcher = launcher
        self._absence = absence

    def find_spot(self, name: Name, vmi: VirtualMachineInstance) -> Spot:
        """Anywhere."""
        del name, vmi
        return Spot() if self._launcher is not None else Spot(lacks=explain_lacks({}, self._absence))

    def find_launcher(self, name: Name, vmi: VirtualMachineInstance) -> Launcher | None:
        """The one that there is."""
        del name, vmi
        return self._launcher

    def is_lost(self, vmi: VirtualMachineInstance) -> bool:
        """Whether a node is gone: only the launcher could tell, and would."""
        del vmi
        return False

    def is_unready(self, vmi: VirtualMachineInstance) -> bool:
        """Return False: the launcher is in this process."""
        del vmi
        return False

    def release(self, name: Name) -> set[Name]:
        """Do nothing: nothing is counted here."""
        del name
        return set()
