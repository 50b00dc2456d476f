"""
The first process of a container: waits for all that end in it, and passes signals on to the one that works.

QEMU puts itself into the background and so becomes this process's child. Waited for by nobody it would stay a zombie
when it ends, which libvirt takes for a process that still runs. Does nothing else.
"""

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import Final

FIRST: Final = 1
PASSED_ON: Final = (signal.SIGTERM, signal.SIGINT)
KILLED: Final = 128
"""What the number of a signal is added to, for the exit status of a process that it has ended."""


def step_aside() -> None:
    """Go on as another process if this is the first one of a container, which then has none but this to do."""
    if os.getpid() != FIRST:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    child = os.fork()
    if child:
        sys.exit(attend(child))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)


def attend(child: int) -> int:
    """Wait for whatever ends until it is this child; its exit status, as shells tell it."""

    def pass_on(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else KILLED - code
