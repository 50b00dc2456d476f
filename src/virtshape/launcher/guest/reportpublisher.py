"""Publish the guest's report: write it to a file and notify watchers."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from virtshape.launcher.report import Note, Report

_log = logging.getLogger(__name__)


class ReportPublisher:
    """Stores and publishes the latest report; thread-safe."""

    def __init__(self, path: Path, report: Report) -> None:
        self._path = path
        self._report = report
        self._number = 0
        self._changed = threading.Condition()
        self._write(report)

    @property
    def report(self) -> Report:
        """The latest report."""
        return self._report

    def publish(self, **changes: Any) -> Report:
        """Change fields of the report and publish it; a final report does not change."""
        with self._changed:
            report = replace(self._report, **changes)
            if report != self._report and not self._report.final:
                self._write(report)
                self._report = report
                self._number += 1
                self._changed.notify_all()
            return self._report

    def replace_note(self, old: Note | None, new: Note | None) -> None:
        """Replace a note; add `new` if `old` is None, and remove `old` if `new` is None."""
        with self._changed:
            kept = tuple(note for note in self._report.notes if note != old)
            self.publish(notes=kept if new is None else (*kept, new))

    def wait_for(self, holds: Callable[[Report], bool], seconds: float) -> bool:
        """Wait until a condition holds for the report; return False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: holds(self._report), seconds)

    def watch(self, heartbeat: float) -> Iterator[Report | None]:
        """Yield the report now and after each change until it is final; yield None after `heartbeat` idle seconds."""
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
        """Replace the file atomically, so that readers never see a partial report."""
        draft = self._path.with_suffix(".new")
        try:
            draft.write_bytes(msgspec.json.encode(report))
            draft.replace(self._path)
        except OSError as error:  # continue to manage the guest if the disk is full
            _log.error("writing the report failed: %s; trying again with the next report", error)


def find_report(path: Path) -> Report | None:
    """Return the report that an earlier process wrote, or None."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except FileNotFoundError:
        return None
