"""
The Launcher protocol: what runs guests on a node, as the instance controller sees it.

Also the launcher that only plays: its node says that it is simulated, and its guests run the moment they are asked to.
"""

from collections.abc import Callable, Collection
from typing import Final, Protocol

from virtshape.api.core.node import Node, NodeAddress, NodeCondition, NodeStatus
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.meta import ObjectMeta
from virtshape.api.quantity import Quantity
from virtshape.controllers.runtime.conditions import is_condition_true
from virtshape.controllers.vmi.gueststatus import GuestStatus
from virtshape.controllers.vmi.nodefit import CPU_MANAGER_LABEL
from virtshape.engine.machine import DEFAULT_ARCHITECTURE

SCHEDULABLE_LABEL: Final = "kubevirt.io/schedulable"
SIMULATED_LABEL: Final = "virtshape.io/simulated"
SIMULATED_NODE: Final = "simulated"

Wake = Callable[[str, str], None]
"""Has an instance looked at again, by its namespace and name."""


class Launcher(Protocol):
    """Runs guests, on one node of its own or wherever it finds a place; every call may be repeated."""

    def describe_node(self, now: str) -> Node | None:
        """The node as it is to be known, with all that it offers; None if it has none of its own."""

    async def launch(self, vmi: VirtualMachineInstance) -> GuestStatus:
        """See to it that the guest runs as its instance says by now, unless it has ended; how it is doing."""

    async def stop(self, vmi: VirtualMachineInstance) -> bool:
        """See to it that the guest ends; whether nothing is left of it."""

    def observe(self, wake: Wake) -> None:
        """Have every change of a guest told."""

    def forget(self, uid: str) -> None:
        """Leave nothing of what was kept for a VM that is gone."""

    async def keep_only(self, uids: Collection[str]) -> None:
        """Leave nothing of guests whose instances and VMs are none of these."""


class SimulatedLauncher:
    """Plays: nothing runs, and every guest is taken to run until it is stopped."""

    def __init__(self) -> None:
        self._paused: dict[str, bool] = {}
        self._wake: Wake = lambda _namespace, _name: None

    def observe(self, wake: Wake) -> None:
        """Tell of pauses; nothing else ever happens to a played guest."""
        self._wake = wake

    def forget(self, uid: str) -> None:
        """Do nothing: nothing is kept for VMs."""

    async def keep_only(self, uids: Collection[str]) -> None:
        """Forget pauses of others."""
        self._paused = {uid: paused for uid, paused in self._paused.items() if uid in uids}

    def pause(self, vmi: VirtualMachineInstance, *, paused: bool) -> None:
        """Take the guest to be paused from now on, or no longer."""
        metadata = vmi.metadata or ObjectMeta()
        self._paused[metadata.uid or ""] = paused
        self._wake(metadata.namespace or "", metadata.name or "")

    def describe_node(self, now: str) -> Node:
        """A node larger than any machine, which says what it is."""
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
                    "kubernetes.io/hostname": SIMULATED_NODE,
                    "kubernetes.io/arch": DEFAULT_ARCHITECTURE,
                    "kubernetes.io/os": "linux",
                    SCHEDULABLE_LABEL: "true",
                    CPU_MANAGER_LABEL: "true",
                    SIMULATED_LABEL: "true",
                },
                annotations={"virtshape.io/description": message},
            ),
            status=NodeStatus(
                addresses=[NodeAddress("Hostname", SIMULATED_NODE)],
                allocatable=offered,
                capacity=dict(offered),
                conditions=[ready],
            ),
        )

    async def launch(self, vmi: VirtualMachineInstance) -> GuestStatus:
        """Say that the guest runs with the size that its instance has, or is paused as it was or was to start."""
        status, cpu, memory = vmi.status, vmi.spec.domain.cpu, vmi.spec.domain.memory
        has_run = status is not None and status.phase == "Running"
        was_paused = is_condition_true(status.conditions if status else None, "Paused")
        paused = self._paused.get(
            (vmi.metadata.uid if vmi.metadata else None) or "",
            was_paused if has_run else vmi.spec.start_strategy == "Paused",
        )
        return GuestStatus(
            "paused" if paused else "running",
            reason="PausedByUser" if paused else "",
            topology=CPUTopology(sockets=cpu.sockets, cores=cpu.cores, threads=cpu.threads) if cpu else None,
            memory=memory.guest if memory else None,
        )

    async def stop(self, vmi: VirtualMachineInstance) -> bool:
        """Say that the guest is gone."""
        self._paused.pop((vmi.metadata.uid if vmi.metadata else None) or "", None)
        return True
