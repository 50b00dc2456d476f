"""
Tests that need what is not installed are skipped with the reason; where `CI` is set, they fail.

A pytest plugin that the conftest at the root loads. What a machine cannot do, whatever is installed on it, may be
skipped anywhere: such reasons begin with `IMPOSSIBLE`.
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
            report.longrepr = f"CI is set, where nothing may be skipped: {reason}"
    return report
