"""
The Launcher protocol, which runs guests for the instance controller, and the simulated launcher.

The simulated launcher has a simulated node; its guests are running as soon as they are launched.
"""

from collections.abc import Callable, Collection
from typing import Final, Protocol

from virtshape.api.core.node import Node, NodeAddress, NodeCondition, NodeStatus
from virtshape.api.kubevirt.conditions import is_condition_true
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.meta import ObjectMeta
from virtshape.api.quantity import Quantity
from virtshape.api.wellknown import (
    ARCHITECTURE_LABEL,
    DESCRIPTION_ANNOTATION,
    HOSTNAME_LABEL,
    OS_LABEL,
    SCHEDULABLE_LABEL,
)
from virtshape.controllers.vmi.gueststatus import GuestStatus
from virtshape.controllers.vmi.nodefit import CPU_MANAGER_LABEL
from virtshape.controllers.vmi.volumehotplugstatus import describe_hotplugged
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE

SIMULATED_LABEL: Final = "virtshape.io/simulated"
SIMULATED_NODE: Final = "simulated"

Wake = Callable[[str, str], None]
"""A function that requeues an instance, given its namespace and name."""


class Launcher(Protocol):
    """Runs guests on one node or in a cluster; every call can be repeated."""

    def describe_node(self, now: str) -> Node | None:
        """Return the Node object with its capacity; None if the launcher does not manage a node."""

    async def launch(self, vmi: VirtualMachineInstance) -> GuestStatus:
        """
        Start the guest, or apply the instance's changes to the running guest; return the guest's status.

        A guest that has ended is not started again.
        """

    async def stop(self, vmi: VirtualMachineInstance) -> bool:
        """Stop the guest; return True if the guest has stopped and its resources are released."""

    def observe(self, wake: Wake) -> None:
        """Call `wake` whenever the state of a guest changes."""

    def forget(self, uid: str) -> None:
        """Remove the persistent data of a deleted VM."""

    async def keep_only(self, uids: Collection[str]) -> None:
        """Remove guests and data of all instances and VMs except those with these UIDs."""


class SimulatedLauncher:
    """Simulates guests: each guest is reported as running until it is stopped."""

    def __init__(self) -> None:
        self._paused: dict[str, bool] = {}
        self._wake: Wake = lambda _namespace, _name: None

    def observe(self, wake: Wake) -> None:
        """Call `wake` when a guest is paused or resumed; nothing else happens to simulated guests."""
        self._wake = wake

    def forget(self, uid: str) -> None:
        """Do nothing: simulated VMs have no data."""

    async def keep_only(self, uids: Collection[str]) -> None:
        """Forget the paused state of all guests except those with these UIDs."""
        self._paused = {uid: paused for uid, paused in self._paused.items() if uid in uids}

    def pause(self, vmi: VirtualMachineInstance, *, paused: bool) -> None:
        """Mark the guest as paused or resumed."""
        metadata = vmi.metadata
        self._paused[metadata.uid or ""] = paused
        self._wake(metadata.namespace or "", metadata.name or "")

    def describe_node(self, now: str) -> Node:
        """Return a simulated node with more capacity than any real machine."""
        offered = {
            "cpu": Quantity("100k"),
            "memory": Quantity("1Pi"),
            "hugepages-2Mi": Quantity("256Ti"),
            "hugepages-1Gi": Quantity("256Ti"),
        }
        message = "simulated node: no guest runs here"
        ready = NodeCondition("Ready", "True", now, now, message, "Simulated")
        return Node(
            api_version="v1",
            kind="Node",
            metadata=ObjectMeta(
                name=SIMULATED_NODE,
                labels={
                    HOSTNAME_LABEL: SIMULATED_NODE,
                    ARCHITECTURE_LABEL: DEFAULT_ARCHITECTURE,
                    OS_LABEL: "linux",
                    SCHEDULABLE_LABEL: "true",
                    CPU_MANAGER_LABEL: "true",
                    SIMULATED_LABEL: "true",
                },
                annotations={DESCRIPTION_ANNOTATION: message},
            ),
            status=NodeStatus(
                addresses=[NodeAddress("Hostname", SIMULATED_NODE)],
                allocatable=offered,
                capacity=dict(offered),
                conditions=[ready],
            ),
        )

    async def launch(self, vmi: VirtualMachineInstance) -> GuestStatus:
        """Return the status of a running or paused guest with the size of its instance."""
        status, cpu, memory = vmi.status, vmi.spec.domain.cpu, vmi.spec.domain.memory
        has_run = status is not None and status.phase == "Running"
        was_paused = is_condition_true(status.conditions if status else None, "Paused")
        paused = self._paused.get(
            vmi.metadata.uid or "",
            was_paused if has_run else vmi.spec.start_strategy == "Paused",
        )
        return GuestStatus(
            "paused" if paused else "running",
            reason="PausedByUser" if paused else "",
            topology=CPUTopology(sockets=cpu.sockets, cores=cpu.cores, threads=cpu.threads) if cpu else None,
            memory=memory.guest if memory else None,
            volumes=tuple(describe_hotplugged(vmi, {volume.name: "" for volume in vmi.spec.volumes or ()}, {})),
        )

    async def stop(self, vmi: VirtualMachineInstance) -> bool:
        """Forget the paused state of the guest; return True because nothing runs."""
        self._paused.pop(vmi.metadata.uid or "", None)
        return True
