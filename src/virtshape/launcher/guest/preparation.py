"""
The work before a start, in a process of its own that ends with it: what it loads takes no memory while the guest runs.

What comes back is a plan, or the report of a guest that cannot start.
"""

import contextlib
import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from virtshape.launcher.guest.plan import Plan
from virtshape.launcher.report import Report

Prepare = Callable[[Path], Plan | Report]
_NOT_PREPARED: Final = Report(
    state="failed", reason="NotStarted", message="the guest could not be prepared; the launcher's log says why"
)
_log = logging.getLogger(__name__)


class _Outcome(Struct):
    plan: Plan | None = None
    report: Report | None = None


class Preparation:
    """A call of `prepare` that is under way in a child process; to be made before this process has threads."""

    def __init__(self, prepare: Prepare, directory: Path) -> None:
        self._reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._reader)
            _prepare_and_exit(prepare, directory, writer)
        os.close(writer)

    def wait(self) -> Plan | Report:
        """Wait for what comes of it."""
        with os.fdopen(self._reader, "rb") as pipe:
            text = pipe.read()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        if not text:
            return _NOT_PREPARED
        outcome = msgspec.json.decode(text, type=_Outcome)
        return outcome.plan or outcome.report or _NOT_PREPARED

    def cancel(self) -> None:
        """End it; whoever waits for it finds that nothing came of it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)


def _prepare_and_exit(prepare: Prepare, directory: Path, writer: int) -> None:
    status = 1
    try:
        outcome = prepare(directory)
        plan = outcome if isinstance(outcome, Plan) else None
        report = outcome if isinstance(outcome, Report) else None
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(msgspec.json.encode(_Outcome(plan=plan, report=report)))
        status = 0
    except Exception:  # noqa: BLE001 - the parent tells that nothing came of it
        _log.exception("the guest cannot be prepared")
    finally:
        os._exit(status)  # the parent's state is not this process's to clean up
