"""
The init process (pid 1) of a launcher container: reap all children and forward signals to the launcher.

QEMU daemonizes and becomes a child of pid 1. Without reaping, QEMU would remain a zombie, which libvirt considers to be
a running process.
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
"""If a signal kills a process, the exit status is this number plus the signal's number."""


def fork_from_init() -> None:
    """If this is pid 1, fork: the child continues, and pid 1 only reaps processes and forwards signals."""
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
    """Reap processes until this child exits; return the child's exit status as a shell would."""

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
