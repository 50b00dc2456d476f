import pytest

from virtshape.launcher.guest.ending import Clues, Ending, is_clear, judge

SHUT_DOWN = Ending("succeeded", "GuestShutDown", "the guest has shut down")


@pytest.mark.parametrize(
    ("clues", "ending"),
    [
        pytest.param(Clues(shut_down="guest", exit_code=0), SHUT_DOWN, id="the guest powered off"),
        pytest.param(
            Clues(shut_down="guest", exit_code=-9), SHUT_DOWN, id="libvirt lost patience with QEMU afterwards"
        ),
        pytest.param(Clues(shut_down="guest", stopped=True), SHUT_DOWN, id="nobody saw QEMU's exit"),
        pytest.param(
            Clues(panicked=True, exit_code=0),
            Ending("failed", "GuestPanicked", "the guest's system has panicked"),
            id="a panic",
        ),
        pytest.param(
            Clues(unwell="no answer", asked="expired", shut_down="guest", exit_code=0),
            Ending("failed", "NotAlive", "the guest was ended because its liveness probe failed: no answer"),
            id="given up",
        ),
        pytest.param(
            Clues(asked="kill", shut_down="host", exit_code=0),
            Ending("failed", "Killed", "the guest was ended without a shutdown, as asked"),
            id="killed on request",
        ),
        pytest.param(
            Clues(asked="expired", grace=30, exit_code=0),
            Ending("failed", "GracePeriodExpired", "the guest did not shut down within 30 seconds and was ended"),
            id="too slow to shut down",
        ),
        pytest.param(
            Clues(exit_code=-9), Ending("failed", "QemuKilled", "QEMU was killed by SIGKILL"), id="QEMU was killed"
        ),
        pytest.param(
            Clues(exit_code=-64), Ending("failed", "QemuKilled", "QEMU was killed by SIGRTMAX"), id="by another signal"
        ),
        pytest.param(
            Clues(shut_down="host", exit_code=0),
            Ending("failed", "QemuKilled", "QEMU was told to end by another program"),
            id="QEMU was told to end",
        ),
        pytest.param(
            Clues(exit_code=1, last_words="out of memory"),
            Ending("failed", "QemuFailed", "QEMU has ended with exit status 1: out of memory"),
            id="QEMU failed with words",
        ),
        pytest.param(
            Clues(exit_code=1), Ending("failed", "QemuFailed", "QEMU has ended with exit status 1"), id="without words"
        ),
        pytest.param(
            Clues(stopped=True, crashed=True),
            Ending("failed", "QemuFailed", "QEMU has ended before its guest shut down"),
            id="libvirt lost QEMU",
        ),
        pytest.param(
            Clues(stopped=True),
            Ending("failed", "LauncherLost", "the guest ended while nobody watched it"),
            id="nothing is known",
        ),
    ],
)
def test_an_end_is_judged_by_what_was_seen(clues: Clues, ending: Ending) -> None:
    assert judge(clues) == ending


@pytest.mark.parametrize(
    ("clues", "clear"),
    [
        pytest.param(Clues(), False, id="nothing happened"),
        pytest.param(Clues(stopped=True), False, id="QEMU's exit may still be seen"),
        pytest.param(Clues(exit_code=0), False, id="libvirt may still say why"),
        pytest.param(Clues(exit_code=0, stopped=True), True, id="both are known"),
        pytest.param(Clues(exit_code=-9), True, id="a signal needs no explanation"),
        pytest.param(Clues(exit_code=0, shut_down="guest"), True, id="the guest has said why"),
        pytest.param(Clues(exit_code=0, asked="kill"), True, id="we know why"),
    ],
)
def test_an_end_is_judged_once_it_is_clear(clues: Clues, clear: bool) -> None:
    assert is_clear(clues) == clear
