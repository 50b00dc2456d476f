"""Start failures are counted once each and delay the next start."""

import pytest
from tests.support.build import build_vm
from tests.support.instances import LATER, NOW, build_vmi

from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.controllers.vm.startfailure import count_failure, delay_seconds

BEFORE: JsonObject = {"consecutiveFailCount": 1, "lastFailedVMIUID": "i0", "retryAfterTimestamp": LATER}


@pytest.mark.parametrize(("failures", "seconds"), [(1, 10), (2, 40), (3, 90), (5, 250), (6, 300), (99, 300)])
def test_start_delay_grows_with_each_failure(failures: int, seconds: int) -> None:
    assert delay_seconds(failures) == seconds


@pytest.mark.parametrize(
    ("strategy", "before", "vmi", "after"),
    [
        (
            "Always",
            None,
            build_vmi("Scheduled", "Failed"),
            {"consecutiveFailCount": 1, "lastFailedVMIUID": "i1", "retryAfterTimestamp": "2027-01-15T08:00:10Z"},
        ),
        (
            "Always",
            BEFORE,
            build_vmi("Scheduled", "Failed"),
            {"consecutiveFailCount": 2, "lastFailedVMIUID": "i1", "retryAfterTimestamp": "2027-01-15T08:00:40Z"},
        ),
        ("Always", BEFORE, build_vmi("Scheduled", "Failed", uid="i0"), BEFORE),
        ("Always", BEFORE, None, BEFORE),
        ("Always", BEFORE, build_vmi("Scheduling"), BEFORE),
        ("Always", BEFORE, build_vmi("Scheduled", "Running"), None),
        ("Always", BEFORE, build_vmi("Running", "Failed"), None),
        ("Manual", BEFORE, build_vmi("Scheduled", "Failed"), None),
    ],
    ids=["first", "second", "counted", "no instance", "starting", "runs", "failed after it ran", "no retries"],
)
def test_each_start_failure_is_counted_once(
    strategy: str, before: JsonObject | None, vmi: VirtualMachineInstance | None, after: JsonObject | None
) -> None:
    vm = build_vm(runStrategy=strategy, status={"startFailure": before})
    assert to_tree(count_failure(vm, vmi, NOW)) == after
