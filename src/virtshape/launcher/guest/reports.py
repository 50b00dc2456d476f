"""
The latest report, for everyone who wants to know: in a file, and for those who wait for the next one.

Decides nothing about what is in it.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from virtshape.launcher.report import Report

_log = logging.getLogger(__name__)


class ReportPublisher:
    """Holds one report at a time; safe to use from any thread."""

    def __init__(self, path: Path, report: Report) -> None:
        self._path = path
        self._report = report
        self._number = 0
        self._changed = threading.Condition()
        self._write(report)

    @property
    def report(self) -> Report:
        """The latest one."""
        return self._report

    def publish(self, **changes: Any) -> Report:
        """Change some fields of the report; a final one stays as it is."""
        with self._changed:
            report = replace(self._report, **changes)
            if report != self._report and not self._report.final:
                self._write(report)
                self._report = report
                self._number += 1
                self._changed.notify_all()
            return self._report

    def wait_for(self, holds: Callable[[Report], bool], seconds: float) -> bool:
        """Wait until something holds of the report; False if it did not in time."""
        with self._changed:
            return self._changed.wait_for(lambda: holds(self._report), seconds)

    def watch(self, heartbeat: float) -> Iterator[Report | None]:
        """Yield the report now and after each change, up to the final one; None every `heartbeat` seconds between."""
        seen = -1
        while True:
            began = time.monotonic()
            with self._changed:
                while self._number == seen and time.monotonic() - began < heartbeat:
                    self._changed.wait(heartbeat)
                report = self._report if self._number != seen else None
                seen = self._number
            yield report
            if report is not None and report.final:
                return

    def _write(self, report: Report) -> None:
        """Put the report in the file's place at once, so that nobody reads half of one."""
        draft = self._path.with_suffix(".new")
        try:
            draft.write_bytes(msgspec.json.encode(report))
            draft.replace(self._path)
        except OSError as error:  # a full disk is no reason to leave the guest alone
            _log.error("the report is not written: %s", error)


def find_report(path: Path) -> Report | None:
    """Read the report that an earlier process left; None if there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except FileNotFoundError:
        return None
