"""
Capacity of nodes: how many more instances with the same demand fit, and why no further instance fits.

The functions are pure. The scheduler uses the same arithmetic (`nodefit`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from virtshape.api.core.node import Node
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.wellknown import SCHEDULABLE_LABEL
from virtshape.controllers.runtime.loop import Name
from virtshape.controllers.vmi.nodefit import Allocations, Demand, check_fit, count_free, measure_demand
from virtshape.controllers.vmi.phases import uses_node
from virtshape.engine.capacity import NodeCapacity


def count_fitting(demand: Demand, node: Node, used: Mapping[str, int]) -> NodeCapacity:
    """Return how many instances with this demand fit into the unused resources of the node."""
    name = node.metadata.name or ""
    reasons = check_fit(demand, node, used)
    if reasons:
        return NodeCapacity(name, 0, reasons, _find_shortages(demand, node, used))
    fits = min(count_free(each, node, used) // amount for each, amount in demand.amounts.items() if amount)
    full = Counter(used)
    for each, amount in demand.amounts.items():
        full[each] += fits * amount
    return NodeCapacity(name, fits, check_fit(demand, node, full), _find_shortages(demand, node, full))


def _find_shortages(demand: Demand, node: Node, used: Mapping[str, int]) -> tuple[str, ...]:
    """Return the names of the resources that are too scarce on the node for one more instance."""
    return tuple(each for each, amount in demand.amounts.items() if amount > count_free(each, node, used))


def allocate_instances(
    vmis: Iterable[VirtualMachineInstance], configuration: KubeVirtConfiguration | None
) -> Allocations:
    """Return the resources that instances use on their nodes."""
    allocations = Allocations()
    for vmi in vmis:
        metadata, node = vmi.metadata, vmi.status.node_name if vmi.status else None
        if node and uses_node(vmi, node):
            key = Name(metadata.namespace or "", metadata.name or "")
            allocations.place(str(key), node, measure_demand(vmi.spec, configuration))
    return allocations


def is_schedulable(node: Node) -> bool:
    """Return True if the node has the label of nodes that can run instances."""
    return (node.metadata.labels or {}).get(SCHEDULABLE_LABEL) == "true"
