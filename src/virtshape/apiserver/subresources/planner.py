"""
Planner: the protocol through which previews use code of the controllers and of the offline tools.

The API server imports neither package; `daemon.planner` implements the protocol.
"""

from collections.abc import Sequence
from typing import Protocol

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.engine.capacity import Capacity
from virtshape.engine.expand import Shape
from virtshape.resolve.importrequest import ImportPreview, ImportRequest
from virtshape.resolve.move import Destination, Move
from virtshape.resolve.reference import Lookup


class Planner(Protocol):
    """Predicts how the controllers act on VMs, and plans imports."""

    async def measure(
        self, vms: Sequence[tuple[VirtualMachine, Shape]], configuration: KubeVirtConfiguration | None
    ) -> list[Capacity]:
        """Return how many more instances of each VM fit on the nodes; raise StatusError if a VM has conflicts."""

    def plan_move(
        self,
        vm: VirtualMachine,
        vmi: VirtualMachineInstance | None,
        to: Destination,
        lookup: Lookup,
        configuration: KubeVirtConfiguration | None,
    ) -> Move:
        """
        Return what changes if the VM uses another instance type or preference.

        Raise StatusError if an object is missing.
        """

    def preview_import(self, request: ImportRequest) -> ImportPreview:
        """
        Return the plan for an import; this method is called in a thread.

        Raise StatusError if the request is invalid.
        """
