"""Results of capacity calculations: how many more instances fit on each node, and why no further one fits."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import (
    VirtualMachine,
    VirtualMachineInstanceTemplateSpec,
    VirtualMachineSpec,
)

OTHER_CONSTRAINTS: Final = "node selectors, affinity, taints or cordoned nodes"
"""The limit that is reported for a node that has enough of every resource but still cannot run another instance."""


class NodeCapacity(NamedTuple):
    """How many more instances fit on a node, and why no further one fits."""

    node: str
    fits: int
    reasons: list[str]
    shortages: tuple[str, ...] = ()
    """The resources, such as `memory`, of which the node has too little for one more instance."""


class Capacity(NamedTuple):
    """How many more instances of one size fit on each node."""

    vcpus: int
    memory: str
    nodes: list[NodeCapacity]

    @property
    def fits(self) -> int:
        """The total number of instances that fit on all nodes."""
        return sum(node.fits for node in self.nodes)


class Limit(NamedTuple):
    """A limit that prevents further instances, and the number of nodes to which it applies."""

    limit: str
    nodes: int


def summarize_limits(nodes: Sequence[NodeCapacity]) -> list[Limit]:
    """
    Return the limits that prevent further instances, the most frequent first, without names of nodes and amounts.

    A node that lacks several resources counts for each of them.
    """
    counted = Counter(limit for node in nodes for limit in node.shortages or (OTHER_CONSTRAINTS,))
    return [Limit(limit, count) for limit, count in sorted(counted.items(), key=lambda one: (-one[1], one[0]))]


def build_empty_vm() -> VirtualMachine:
    """Return a VM that sets no fields; the capacity for an instance type is calculated with such a VM."""
    template = VirtualMachineInstanceTemplateSpec(spec=VirtualMachineInstanceSpec(domain=DomainSpec(devices=Devices())))
    return VirtualMachine(
        api_version="kubevirt.io/v1", kind="VirtualMachine", spec=VirtualMachineSpec(template=template)
    )
