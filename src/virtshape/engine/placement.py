"""
Where a guest may run: node selector and scheduler of an instance type.

Pure: no I/O, no clock, no logging.
"""

from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec


def check_placement(spec: VirtualMachineInstanceSpec, given: VirtualMachineInstancetypeSpec) -> list[str]:
    """The fields of the VM that say what its instance type says."""
    clashes = []
    if spec.node_selector is not None and given.node_selector is not None:
        clashes.append("nodeSelector")
    if spec.scheduler_name and given.scheduler_name:
        clashes.append("schedulerName")
    return clashes


def apply_placement(spec: VirtualMachineInstanceSpec, given: VirtualMachineInstancetypeSpec) -> None:
    """Write what the instance type gives."""
    if given.node_selector is not None:
        spec.node_selector = dict(given.node_selector)
    if given.scheduler_name:
        spec.scheduler_name = given.scheduler_name
