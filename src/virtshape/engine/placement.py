"""
Where a guest may run: node selector and scheduler of an instance type.

Pure: no I/O, no clock, no logging.
"""

from collections.abc import Iterator

from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.engine.draft import Draft


def check_placement(spec: VirtualMachineInstanceSpec, given: VirtualMachineInstancetypeSpec) -> Iterator[str]:
    """The fields of the VM that say what its instance type says."""
    if spec.node_selector is not None and given.node_selector is not None:
        yield "nodeSelector"
    if spec.scheduler_name and given.scheduler_name:
        yield "schedulerName"


def apply_placement(draft: Draft, given: VirtualMachineInstancetypeSpec) -> None:
    """Write what the instance type gives."""
    if given.node_selector is not None:
        draft.put(draft.spec, "node_selector", dict(given.node_selector))
    if given.scheduler_name:
        draft.put(draft.spec, "scheduler_name", given.scheduler_name)
