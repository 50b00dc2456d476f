"""Run strategies of a VM, and the state changes that clients can request."""

from typing import Final

from virtshape.api.kubevirt.machine import VirtualMachineSpec

ALWAYS: Final = "Always"
HALTED: Final = "Halted"
MANUAL: Final = "Manual"
ONCE: Final = "Once"
RERUN_ON_FAILURE: Final = "RerunOnFailure"
START: Final = "Start"
STOP: Final = "Stop"


def run_strategy(spec: VirtualMachineSpec) -> str:
    """Return the run strategy of a VM, from `runStrategy` or `running`."""
    if spec.run_strategy:
        return spec.run_strategy
    return ALWAYS if spec.running else HALTED
