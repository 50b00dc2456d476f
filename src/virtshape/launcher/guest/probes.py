"""Run the readiness and liveness probes periodically while the guest runs."""

import logging
import threading
from collections.abc import Callable, Iterator

from virtshape.launcher.check import Check, Checks, Tally
from virtshape.launcher.guest.reports import ReportPublisher

_log = logging.getLogger(__name__)


class ProbeWorkers:
    """Publishes the guest's readiness and calls back when its liveness probe fails."""

    def __init__(
        self,
        checks: Checks,
        reports: ReportPublisher,
        ask: Callable[[Check], str],
        on_liveness_failure: Callable[[str], None],
    ) -> None:
        self._checks = checks
        self._reports = reports
        self._check_guest = ask
        self._on_liveness_failure = on_liveness_failure

    def start(self) -> None:
        """Probe on threads until the guest has ended."""
        for name, check, follow in (
            ("readiness", self._checks.readiness, self._run_readiness),
            ("liveness", self._checks.liveness, self._run_liveness),
        ):
            if check is not None:
                threading.Thread(target=follow, args=[check], name=name, daemon=True).start()

    def _run_readiness(self, check: Check) -> None:
        tally = Tally(check, well=not self._reports.report.unready)
        for problem in self._iterate_results(check):
            tally.count(well=not problem)
            if tally.well:
                self._reports.publish(unready="")
            elif problem:
                self._reports.publish(unready=f"readiness probe failed: {problem}")

    def _run_liveness(self, check: Check) -> None:
        tally = Tally(check, well=True)
        for problem in self._iterate_results(check):
            tally.count(well=not problem)
            if not tally.well:
                _log.warning("liveness probe failed: %s; stopping the guest", problem)
                self._on_liveness_failure(problem)
                return

    def _iterate_results(self, check: Check) -> Iterator[str]:
        """Yield the result of each probe: an error message, or an empty string on success."""
        seconds = check.delay
        while not self._reports.wait_for(lambda report: report.final, seconds):
            seconds = check.period
            if self._reports.report.state == "running":
                yield self._check_guest(check)
