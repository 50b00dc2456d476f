"""
What it means that a guest has ended, from all that was seen of it.

Pure: no I/O, no clock, no logging.
"""

import signal
from typing import Literal

from msgspec import Struct

from virtshape.launcher.report import Reason, State


class Clues(Struct, kw_only=True):
    """What was seen of a guest that may bear on its end."""

    shut_down: Literal["", "guest", "host"] = ""
    """Who had QEMU end in good order."""
    panicked: bool = False
    asked: Literal["", "expired", "kill"] = ""
    """Whether we ended it: after the grace period, or at once."""
    grace: float = 0.0
    """Seconds that it was given to shut down."""
    unwell: str = ""
    """What the guest's liveness probe had to say when we had it end for that."""
    exit_code: int | None = None
    stopped: bool = False
    """Whether libvirt has seen QEMU end."""
    crashed: bool = False
    """Whether libvirt takes it that QEMU did not end in good order."""
    last_words: str = ""
    """What QEMU printed last."""


class Ending(Struct, frozen=True):
    """How a guest ended."""

    state: State
    reason: Reason
    message: str


def is_clear(clues: Clues) -> bool:
    """Whether QEMU has ended and nothing that may still come would change what that means."""
    if clues.exit_code is None:
        return False
    return clues.stopped or clues.exit_code != 0 or clues.panicked or clues.asked != "" or clues.shut_down == "guest"


def judge(clues: Clues) -> Ending:
    """Say how the guest ended."""
    if clues.panicked:
        return Ending("failed", "GuestPanicked", "the guest's system has panicked")
    if clues.unwell:
        return Ending("failed", "NotAlive", f"the guest was ended because its liveness probe failed: {clues.unwell}")
    if clues.asked == "kill":
        return Ending("failed", "Killed", "the guest was ended without a shutdown, as asked")
    if clues.asked == "expired":
        words = f"the guest did not shut down within {clues.grace:g} seconds and was ended"
        return Ending("failed", "GracePeriodExpired", words)
    if clues.shut_down == "guest":
        return Ending("succeeded", "GuestShutDown", "the guest has shut down")
    return _judge_process(clues)


def _judge_process(clues: Clues) -> Ending:
    """Say how QEMU ended by itself, or by another program."""
    code = clues.exit_code
    if code is not None and code < 0:
        return Ending("failed", "QemuKilled", f"QEMU was killed by {_name_signal(-code)}")
    if clues.shut_down == "host":
        return Ending("failed", "QemuKilled", "QEMU was told to end by another program")
    said = f": {clues.last_words}" if clues.last_words else ""
    if code is not None and code > 0:
        return Ending("failed", "QemuFailed", f"QEMU has ended with exit status {code}{said}")
    if clues.crashed or code is not None:
        return Ending("failed", "QemuFailed", f"QEMU has ended before its guest shut down{said}")
    return Ending("failed", "LauncherLost", f"the guest ended while nobody watched it{said}")


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
