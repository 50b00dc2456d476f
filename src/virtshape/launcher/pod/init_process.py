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

INIT_PID: Final = 1
FORWARDED_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
KILLED: Final = 128
"""What the number of a signal is added to, for the exit status of a process that it has ended."""


def fork_from_init() -> None:
    """Go on as another process if this is the first one of a container, which then has none but this to do."""
    if os.getpid() != INIT_PID:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED_SIGNALS)
    child = os.fork()
    if child:
        sys.exit(reap_until_exit(child))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED_SIGNALS)


def reap_until_exit(child: int) -> int:
    """Wait for whatever ends until it is this child; its exit status, as shells tell it."""

    def forward(number: int, _: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in FORWARDED_SIGNALS:
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED_SIGNALS)
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else KILLED - code
