"""
Make skipped tests fail if the environment variable `CI` is set.

The root conftest loads this module as a pytest plugin. Tests that the machine cannot run,
whatever is installed, may be skipped anywhere: their skip reasons begin with `IMPOSSIBLE`.
"""

import os
from collections.abc import Generator
from typing import Final

import pytest

IMPOSSIBLE: Final = "not possible on this machine: "


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if IMPOSSIBLE not in reason:
            report.outcome = "failed"
            report.longrepr = f"tests must not be skipped while CI is set: {reason}"
    return report
