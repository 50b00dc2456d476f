"""Node selector and scheduler from the instance type."""

from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec


def check_placement(spec: VirtualMachineInstanceSpec, given: VirtualMachineInstancetypeSpec) -> list[str]:
    """Return the VM's placement fields that conflict with the instance type."""
    clashes = []
    if spec.node_selector is not None and given.node_selector is not None:
        clashes.append("nodeSelector")
    if spec.scheduler_name and given.scheduler_name:
        clashes.append("schedulerName")
    return clashes


def apply_placement(spec: VirtualMachineInstanceSpec, given: VirtualMachineInstancetypeSpec) -> None:
    """Set the node selector and the scheduler if the instance type sets them."""
    if given.node_selector is not None:
        spec.node_selector = dict(given.node_selector)
    if given.scheduler_name:
        spec.scheduler_name = given.scheduler_name
