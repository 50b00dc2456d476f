"""
The Launcher protocol: what runs guests on a node, as the instance controller sees it.

Also the launcher that only plays: its node says that it is simulated, and its guests run the moment they are asked to.
"""

from typing import Final, Literal, Protocol

from msgspec import Struct

from virtshape.api.core.node import Node, NodeAddress, NodeCondition, NodeStatus
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.meta import ObjectMeta
from virtshape.api.quantity import Quantity
from virtshape.control.conditions import is_condition_true
from virtshape.control.fit import CPU_MANAGER_LABEL

SCHEDULABLE_LABEL: Final = "kubevirt.io/schedulable"
SIMULATED_LABEL: Final = "virtshape.io/simulated"
SIMULATED_NODE: Final = "simulated"

GuestState = Literal["starting", "running", "paused", "succeeded", "failed"]


class Guest(Struct, frozen=True):
    """How a guest is doing, and why if it has ended."""

    state: GuestState
    message: str = ""


class Launcher(Protocol):
    """Runs guests on one node; every call may be repeated."""

    def describe_node(self, now: str) -> Node:
        """The node as it is to be known, with all that it offers."""

    async def launch(self, vmi: VirtualMachineInstance) -> Guest:
        """See to it that the guest runs, unless it has ended; how it is doing."""

    async def stop(self, vmi: VirtualMachineInstance) -> bool:
        """See to it that the guest ends; whether nothing is left of it."""


class SimulatedLauncher:
    """Plays: nothing runs, and every guest is taken to run until it is stopped."""

    def describe_node(self, now: str) -> Node:
        """A node larger than any machine, which says what it is."""
        offered = {
            "cpu": Quantity("100k"),
            "memory": Quantity("1Pi"),
            "hugepages-2Mi": Quantity("256Ti"),
            "hugepages-1Gi": Quantity("256Ti"),
        }
        words = "no guest runs here: phases are played"
        ready = NodeCondition("Ready", "True", now, now, words, "Simulated")
        return Node(
            api_version="v1",
            kind="Node",
            metadata=ObjectMeta(
                name=SIMULATED_NODE,
                labels={
                    "kubernetes.io/hostname": SIMULATED_NODE,
                    SCHEDULABLE_LABEL: "true",
                    CPU_MANAGER_LABEL: "true",
                    SIMULATED_LABEL: "true",
                },
                annotations={"virtshape.io/description": words},
            ),
            status=NodeStatus(
                addresses=[NodeAddress("Hostname", SIMULATED_NODE)],
                allocatable=offered,
                capacity=dict(offered),
                conditions=[ready],
            ),
        )

    async def launch(self, vmi: VirtualMachineInstance) -> Guest:
        """Say that the guest runs, or is paused as it was or was to start."""
        status = vmi.status
        if status is not None and status.phase == "Running":
            return Guest("paused" if is_condition_true(status.conditions, "Paused") else "running")
        return Guest("paused" if vmi.spec.start_strategy == "Paused" else "running")

    async def stop(self, vmi: VirtualMachineInstance) -> bool:
        """Say that the guest is gone."""
        del vmi
        return True
