"""
Planner for the API's previews: predicts how the controllers act on VMs, with the controllers' own functions.

The resources in use on the nodes are read at most every five seconds, because this takes a long time on large clusters.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.client.protocol import Client
from virtshape.controllers.fit import Nodes, measure_capacity, read_nodes
from virtshape.controllers.vm.migratetype import plan_move
from virtshape.controllers.vm.newvmi import make_instance
from virtshape.engine.capacity import Capacity
from virtshape.engine.expand import Shape
from virtshape.engine.machinetype import default_architecture
from virtshape.resolve.importrequest import ImportPreview, ImportRequest
from virtshape.resolve.move import Destination, Move
from virtshape.resolve.reference import Lookup

MAX_AGE_SECONDS: Final = 5.0
NO_GUESTS: Final = "the server may not list nodes and pods, because this installation runs no guests"
_FORBIDDEN: Final = 403


class ControllerPlanner:
    """
    Predicts how the controllers act; `connect` returns a client that may list nodes, pods and instances.

    `preview_import` plans imports, with the function that the offline tools use.
    """

    def __init__(
        self,
        connect: Callable[[], Client],
        preview_import: Callable[[ImportRequest], ImportPreview],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self.preview_import = preview_import
        self._clock = clock
        self._lock = asyncio.Lock()
        self._nodes: Nodes | None = None
        self._read_at = 0.0

    async def measure(
        self, vms: Sequence[tuple[VirtualMachine, Shape]], configuration: KubeVirtConfiguration | None
    ) -> list[Capacity]:
        """Return how many more instances of each VM fit on the nodes; raise StatusError if a VM has conflicts."""
        architecture = default_architecture(configuration)
        nodes = await self._get_nodes(configuration)
        capacities = []
        for vm, shape in vms:
            _, spec = make_instance(vm, shape, configuration, architecture, firmware_uuid="")
            capacities.append(measure_capacity(spec, nodes, configuration))
            await asyncio.sleep(0)  # let other requests run
        return capacities

    async def _get_nodes(self, configuration: KubeVirtConfiguration | None) -> Nodes:
        async with self._lock:
            if self._nodes is None or self._clock() - self._read_at > MAX_AGE_SECONDS:
                self._nodes = await self._read_nodes(configuration)
                self._read_at = self._clock()
            return self._nodes

    async def _read_nodes(self, configuration: KubeVirtConfiguration | None) -> Nodes:
        try:
            return await read_nodes(self._connect(), configuration)
        except StatusError as error:
            if error.code != _FORBIDDEN:
                raise
            raise StatusError(400, "BadRequest", f"{NO_GUESTS}: {error.message}") from None

    def plan_move(
        self,
        vm: VirtualMachine,
        vmi: VirtualMachineInstance | None,
        to: Destination,
        lookup: Lookup,
        configuration: KubeVirtConfiguration | None,
    ) -> Move:
        """
        Return what changes if the VM uses `to`, another instance type or preference.

        Raise StatusError if an object is missing.
        """
        return plan_move(vm, vmi, to, lookup, configuration)
