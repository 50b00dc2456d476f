"""
Prepare a guest in a child process, so that the modules for preparation use no memory while the guest runs.

The result is a plan, or the report of a guest that cannot start.
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
    state="failed", reason="NotStarted", message="preparing the guest failed; see the launcher's log"
)
_log = logging.getLogger(__name__)


class _Result(Struct):
    plan: Plan | None = None
    report: Report | None = None


class Preparation:
    """A call to `prepare` in a child process, which must be forked before this process starts threads."""

    def __init__(self, prepare: Prepare, directory: Path) -> None:
        self._reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._reader)
            _prepare_and_exit(prepare, directory, writer)
        os.close(writer)

    def wait(self) -> Plan | Report:
        """Wait until the child has prepared the guest, and return the plan or the report."""
        with os.fdopen(self._reader, "rb") as pipe:
            text = pipe.read()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        if not text:
            return _NOT_PREPARED
        outcome = msgspec.json.decode(text, type=_Result)
        return outcome.plan or outcome.report or _NOT_PREPARED

    def cancel(self) -> None:
        """Kill the child; `wait` then returns a failure."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)


def _prepare_and_exit(prepare: Prepare, directory: Path, writer: int) -> None:
    status = 1
    try:
        outcome = prepare(directory)
        plan = outcome if isinstance(outcome, Plan) else None
        report = outcome if isinstance(outcome, Report) else None
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(msgspec.json.encode(_Result(plan=plan, report=report)))
        status = 0
    except Exception:  # noqa: BLE001 - the parent reports the failure
        _log.exception("preparing the guest failed")
    finally:
        os._exit(status)  # skip the parent's exit handlers
