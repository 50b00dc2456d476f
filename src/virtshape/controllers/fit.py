"""
Count how many more VMs fit on the nodes: read the nodes and the resources in use, and compute the demand of one VM.

On a cluster, each VM needs a launcher pod, and all pods use resources; with `virtshape up`, only instances do.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from virtshape.api.core.node import Node
from virtshape.api.core.podspec import Pod
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.model import Model
from virtshape.client.protocol import Client
from virtshape.controllers.pods.capacity import allocate_pods, measure_launcher_demand
from virtshape.controllers.vm.status import measure
from virtshape.controllers.vmi.capacity import allocate_instances, count_fitting, is_schedulable
from virtshape.controllers.vmi.nodefit import Allocations, Demand, measure_demand
from virtshape.engine.capacity import Capacity

T = TypeVar("T", bound=Model)

_PAGE: Final = 500


class Nodes(NamedTuple):
    """The nodes that run instances, the resources in use on them, and a function that returns an instance's demand."""

    nodes: Sequence[Node]
    allocations: Allocations
    measure: Callable[[VirtualMachineInstanceSpec, KubeVirtConfiguration | None], Demand]


async def read_nodes(client: Client, configuration: KubeVirtConfiguration | None) -> Nodes:
    """Read the nodes that run instances, and the resources in use on them."""
    found = await _list_all(client, Node)
    nodes = [node for node in found if is_schedulable(node)]
    pods = await _list_all(client, Pod)
    if any(pod.spec is not None and pod.spec.node_name for pod in pods):
        # On a cluster, only KubeVirt labels the nodes that run instances; without labels, all nodes count.
        return Nodes(nodes or found, allocate_pods(pods), measure_launcher_demand)
    vmis = await _list_all(client, VirtualMachineInstance)
    return Nodes(nodes, allocate_instances(vmis, configuration), measure_demand)


async def _list_all(client: Client, kind: type[T]) -> list[T]:
    """Return all objects of a kind, read in pages so that other tasks can run."""
    found: list[T] = []
    continuation = ""
    while True:
        page = await client.list(kind, limit=_PAGE, continuation=continuation)
        found += page.items
        continuation = page.continuation
        if not continuation:
            return found


def measure_capacity(
    spec: VirtualMachineInstanceSpec, nodes: Nodes, configuration: KubeVirtConfiguration | None
) -> Capacity:
    """Return how many more instances with this spec fit on the nodes."""
    demand, size = nodes.measure(spec, configuration), measure(spec)
    counted = [count_fitting(demand, node, nodes.allocations.used(node.metadata.name or "")) for node in nodes.nodes]
    return Capacity(size.vcpus or 1, str(size.memory), counted)
