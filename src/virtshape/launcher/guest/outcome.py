"""
What it means that a guest has ended, from all that was seen of it.

Pure: no I/O, no clock, no logging.
"""

import signal
from typing import Literal

from msgspec import Struct

from virtshape.launcher.report import Reason, State


class ExitEvidence(Struct, kw_only=True):
    """What was seen of a guest that may bear on its end."""

    shut_down: Literal["", "guest", "host"] = ""
    """Who had QEMU end in good order."""
    panicked: bool = False
    ended_by_us: Literal["", "expired", "kill"] = ""
    """Whether we ended it: after the grace period, or at once."""
    grace: float = 0.0
    """Seconds that it was given to shut down."""
    liveness_failure: str = ""
    """What the guest's liveness probe had to say when we had it end for that."""
    exit_code: int | None = None
    stopped: bool = False
    """Whether libvirt has seen QEMU end."""
    crashed: bool = False
    """Whether libvirt takes it that QEMU did not end in good order."""
    last_message: str = ""
    """What QEMU printed last."""


class Outcome(Struct, frozen=True):
    """How a guest ended."""

    state: State
    reason: Reason
    message: str


def is_conclusive(evidence: ExitEvidence) -> bool:
    """Whether QEMU has ended and nothing that may still come would change what that means."""
    if evidence.exit_code is None:
        return False
    return (
        evidence.stopped
        or evidence.exit_code != 0
        or evidence.panicked
        or evidence.ended_by_us != ""
        or evidence.shut_down == "guest"
    )


def decide_outcome(evidence: ExitEvidence) -> Outcome:
    """Say how the guest ended."""
    if evidence.panicked:
        return Outcome("failed", "GuestPanicked", "the guest's system has panicked")
    if evidence.liveness_failure:
        return Outcome(
            "failed", "NotAlive", f"the guest was ended because its liveness probe failed: {evidence.liveness_failure}"
        )
    if evidence.ended_by_us == "kill":
        return Outcome("failed", "Killed", "the guest was ended without a shutdown, as ended_by_us")
    if evidence.ended_by_us == "expired":
        message = f"the guest did not shut down within {evidence.grace:g} seconds and was ended"
        return Outcome("failed", "GracePeriodExpired", message)
    if evidence.shut_down == "guest":
        return Outcome("succeeded", "GuestShutDown", "the guest has shut down")
    return _decide_process_outcome(evidence)


def _decide_process_outcome(evidence: ExitEvidence) -> Outcome:
    """Say how QEMU ended by itself, or by another program."""
    code = evidence.exit_code
    if code is not None and code < 0:
        return Outcome("failed", "QemuKilled", f"QEMU was killed by {_get_signal_name(-code)}")
    if evidence.shut_down == "host":
        return Outcome("failed", "QemuKilled", "QEMU was told to end by another program")
    said = f": {evidence.last_message}" if evidence.last_message else ""
    if code is not None and code > 0:
        return Outcome("failed", "QemuFailed", f"QEMU has ended with exit status {code}{said}")
    if evidence.crashed or code is not None:
        return Outcome("failed", "QemuFailed", f"QEMU has ended before its guest shut down{said}")
    return Outcome("failed", "LauncherLost", f"the guest ended while nobody watched it{said}")


def _get_signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
