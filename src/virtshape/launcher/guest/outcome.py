"""Decide why a guest stopped, from the evidence that its launcher process collected, without side effects."""

import signal
from typing import Literal

from msgspec import Struct

from virtshape.launcher.report import Report


class ExitEvidence(Struct, kw_only=True):
    """What was observed about a guest and its QEMU process."""

    shut_down: Literal["", "guest", "host"] = ""
    """Who requested the orderly shutdown; empty if there was no request."""
    panicked: bool = False
    ended_by_us: Literal["", "expired", "kill"] = ""
    """How the launcher killed the guest: `expired` after the grace period, `kill` on request; empty if it did not."""
    grace: float = 0.0
    """Grace period in seconds."""
    liveness_failure: str = ""
    """The liveness probe's message, if the guest was stopped because of it."""
    exit_code: int | None = None
    stopped: bool = False
    """Whether libvirt reported the domain as stopped."""
    crashed: bool = False
    """Whether libvirt reported that QEMU failed."""
    last_message: str = ""
    """The last line that QEMU printed."""


def is_conclusive(evidence: ExitEvidence) -> bool:
    """Return True if QEMU has exited and no further event can change the outcome."""
    if evidence.exit_code is None:
        return False
    return (
        evidence.stopped
        or evidence.exit_code != 0
        or evidence.panicked
        or evidence.ended_by_us != ""
        or evidence.shut_down == "guest"
    )


def decide_outcome(evidence: ExitEvidence) -> Report:
    """Return a report of why the guest stopped: state, reason and message."""
    if evidence.panicked:
        return Report(state="failed", reason="GuestPanicked", message="the guest's system has panicked")
    if evidence.liveness_failure:
        return Report(
            state="failed",
            reason="NotAlive",
            message=f"the guest was stopped because its liveness probe failed: {evidence.liveness_failure}",
        )
    if evidence.ended_by_us == "kill":
        return Report(state="failed", reason="Killed", message="the guest was killed as requested")
    if evidence.ended_by_us == "expired":
        message = f"the guest did not shut down within {evidence.grace:g} seconds and was killed"
        return Report(state="failed", reason="GracePeriodExpired", message=message)
    if evidence.shut_down == "guest":
        return Report(state="succeeded", reason="GuestShutDown", message="the guest has shut down")
    return _decide_process_outcome(evidence)


def _decide_process_outcome(evidence: ExitEvidence) -> Report:
    """Return the report for a QEMU process that exited although neither the launcher nor the guest requested it."""
    code = evidence.exit_code
    if code is not None and code < 0:
        return Report(state="failed", reason="QemuKilled", message=f"QEMU was killed by {_get_signal_name(-code)}")
    if evidence.shut_down == "host":
        return Report(state="failed", reason="QemuKilled", message="QEMU was terminated by another program")
    said = f": {evidence.last_message}" if evidence.last_message else ""
    if code is not None and code > 0:
        return Report(state="failed", reason="QemuFailed", message=f"QEMU has ended with exit status {code}{said}")
    if evidence.crashed or code is not None:
        return Report(state="failed", reason="QemuFailed", message=f"QEMU has ended before its guest shut down{said}")
    return Report(
        state="failed", reason="LauncherLost", message=f"the guest ended while no launcher process was running{said}"
    )


def _get_signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
