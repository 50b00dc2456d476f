"""
Count the start failures of a VM and compute the delay before its next start.

The functions are pure.
"""

from typing import Final

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import (
    ALWAYS,
    ONCE,
    RERUN_ON_FAILURE,
    VirtualMachine,
    VirtualMachineStartFailure,
    run_strategy,
)
from virtshape.api.times import format_time

FIRST_DELAY_SECONDS: Final = 10
MAX_DELAY_SECONDS: Final = 300
_RETRYING: Final = frozenset({ALWAYS, ONCE, RERUN_ON_FAILURE})


def delay_seconds(failures: int) -> int:
    """Return the delay in seconds after this many failures in a row, at most five minutes."""
    return min(FIRST_DELAY_SECONDS * failures * failures, MAX_DELAY_SECONDS)


def count_failure(
    vm: VirtualMachine, vmi: VirtualMachineInstance | None, now: float
) -> VirtualMachineStartFailure | None:
    """Return the VM's new `startFailure` status; None if its instance has run or its run strategy does not retry."""
    before = vm.status.start_failure if vm.status else None
    if run_strategy(vm.spec) not in _RETRYING:
        return None
    if vmi is None or vmi.status is None:
        return before
    if _has_run(vmi):
        return None
    if vmi.status.phase != "Failed":
        return before
    uid = vmi.metadata.uid
    if before is not None and before.last_failed_vmi_uid == uid:
        return before
    failures = ((before.consecutive_fail_count if before else None) or 0) + 1
    return VirtualMachineStartFailure(failures, uid, format_time(now + delay_seconds(failures)))


def _has_run(vmi: VirtualMachineInstance) -> bool:
    if vmi.status is None:
        return False
    entered = {stamp.phase for stamp in vmi.status.phase_transition_timestamps or ()}
    return vmi.status.phase == "Running" or "Running" in entered
