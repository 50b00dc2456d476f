import pytest

from virtshape.launcher.guest.outcome import ExitEvidence, decide_outcome, is_conclusive
from virtshape.launcher.report import Report

SHUT_DOWN = Report(state="succeeded", reason="GuestShutDown", message="the guest has shut down")


@pytest.mark.parametrize(
    ("evidence", "outcome"),
    [
        pytest.param(ExitEvidence(shut_down="guest", exit_code=0), SHUT_DOWN, id="the guest powered off"),
        pytest.param(ExitEvidence(shut_down="guest", exit_code=-9), SHUT_DOWN, id="libvirt killed QEMU afterwards"),
        pytest.param(ExitEvidence(shut_down="guest", stopped=True), SHUT_DOWN, id="exit of QEMU not observed"),
        pytest.param(
            ExitEvidence(panicked=True, exit_code=0),
            Report(state="failed", reason="GuestPanicked", message="the guest's system has panicked"),
            id="a panic",
        ),
        pytest.param(
            ExitEvidence(liveness_failure="no answer", ended_by_us="expired", shut_down="guest", exit_code=0),
            Report(
                state="failed",
                reason="NotAlive",
                message="the guest was stopped because its liveness probe failed: no answer",
            ),
            id="start failed",
        ),
        pytest.param(
            ExitEvidence(ended_by_us="kill", shut_down="host", exit_code=0),
            Report(state="failed", reason="Killed", message="the guest was killed as requested"),
            id="killed on request",
        ),
        pytest.param(
            ExitEvidence(ended_by_us="expired", grace=30, exit_code=0),
            Report(
                state="failed",
                reason="GracePeriodExpired",
                message="the guest did not shut down within 30 seconds and was killed",
            ),
            id="grace period exceeded",
        ),
        pytest.param(
            ExitEvidence(exit_code=-9),
            Report(state="failed", reason="QemuKilled", message="QEMU was killed by SIGKILL"),
            id="QEMU was killed",
        ),
        pytest.param(
            ExitEvidence(exit_code=-64),
            Report(state="failed", reason="QemuKilled", message="QEMU was killed by SIGRTMAX"),
            id="killed by another signal",
        ),
        pytest.param(
            ExitEvidence(shut_down="host", exit_code=0),
            Report(state="failed", reason="QemuKilled", message="QEMU was terminated by another program"),
            id="QEMU was terminated",
        ),
        pytest.param(
            ExitEvidence(exit_code=1, last_message="out of memory"),
            Report(state="failed", reason="QemuFailed", message="QEMU has ended with exit status 1: out of memory"),
            id="QEMU failed with a message",
        ),
        pytest.param(
            ExitEvidence(exit_code=1),
            Report(state="failed", reason="QemuFailed", message="QEMU has ended with exit status 1"),
            id="QEMU failed without a message",
        ),
        pytest.param(
            ExitEvidence(stopped=True, crashed=True),
            Report(state="failed", reason="QemuFailed", message="QEMU has ended before its guest shut down"),
            id="libvirt lost QEMU",
        ),
        pytest.param(
            ExitEvidence(stopped=True),
            Report(
                state="failed", reason="LauncherLost", message="the guest ended while no launcher process was running"
            ),
            id="no evidence",
        ),
    ],
)
def test_outcome_of_a_guest_is_derived_from_how_qemu_exited(evidence: ExitEvidence, outcome: Report) -> None:
    assert decide_outcome(evidence) == outcome


@pytest.mark.parametrize(
    ("evidence", "clear"),
    [
        pytest.param(ExitEvidence(), False, id="nothing happened"),
        pytest.param(ExitEvidence(stopped=True), False, id="QEMU's exit may still be observed"),
        pytest.param(ExitEvidence(exit_code=0), False, id="libvirt may still report a reason"),
        pytest.param(ExitEvidence(exit_code=0, stopped=True), True, id="both are known"),
        pytest.param(ExitEvidence(exit_code=-9), True, id="a signal needs no explanation"),
        pytest.param(ExitEvidence(exit_code=0, shut_down="guest"), True, id="the guest has shut down"),
        pytest.param(ExitEvidence(exit_code=0, ended_by_us="kill"), True, id="known reason"),
    ],
)
def test_outcome_of_a_guest_is_decided_only_with_sufficient_exit_evidence(evidence: ExitEvidence, clear: bool) -> None:
    assert is_conclusive(evidence) == clear
