"""
Progress of a parallel run: print the number of finished tests and the running ones every few seconds.

The root conftest loads this module as a pytest plugin. With `-v` pytest names every test itself; on one worker it names
every file.
"""

import threading
import time
from typing import Final

import pytest

INTERVAL: Final = 10.0


class Progress:
    """Prints a line every few seconds in place of a dot for each test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._session: pytest.Session | None = None
        self._running: dict[str, float] = {}
        self._done = 0
        self._began = time.monotonic()
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._report, name="progress", daemon=True)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session
        self._thread.start()

    def pytest_sessionfinish(self) -> None:
        self._finished.set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._running[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._running.pop(nodeid, None)
        self._done += 1

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        return ("passed", "", "PASSED") if report.when == "call" and report.passed else None

    def _report(self) -> None:
        while not self._finished.wait(INTERVAL):
            self._write()

    def _write(self) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        total = self._session.testscollected if self._session else 0
        if reporter is None or self._done >= total:
            return
        now = time.monotonic()
        times = {nodeid.partition("[")[0]: now - began for nodeid, began in [*self._running.items()]}
        running = ", ".join(f"{test} ({seconds:.0f} s)" for test, seconds in times.items())
        reporter.write_line(f"{int(now - self._began):4} s: {self._done} of {total} tests done, running: {running}")


def pytest_configure(config: pytest.Config) -> None:
    is_controller = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if is_controller and config.get_verbosity() <= 0:
        config.pluginmanager.register(Progress(config), "progress")
