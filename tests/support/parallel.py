"""
Test scheduling: which tests are slow, which share a worker, and the order in which they start.

A pytest plugin that the root conftest loads. `make test` skips tests marked `slow` here; `make test-all` runs all.
"""

import os
from typing import Final

import pytest

SLOW: Final = (
    "tests/cluster/",
    "tests/conformance/test_live_vectors.py",
    "tests/docs/test_server_documents.py::test_server_prints_the_documented_output[guests.md",
    "tests/e2e/test_fleet.py",
    "tests/e2e/test_full_disk.py",
    "tests/e2e/test_guest",
    "tests/e2e/test_kubevirt_",
    "tests/e2e/test_memory.py",
    "tests/e2e/test_upload_attacks.py",
    "tests/e2e/test_virtctl_guests.py",
    "tests/integration/controllers/test_crash.py",
    "tests/integration/launcher/test_demo.py",
    "tests/integration/launcher/test_lifecycle.py",
    "tests/integration/storage/test_crash.py",
    "tests/integration/test_background_tasks.py",
    "tests/integration/test_lint_agreement.py::test_lint_and_dry_run_agree_on_many_objects",
    "tests/web/test_guests.py",
)
"""
Id prefixes of tests that `make test` skips: most guests, attacks, crashes, and all that need a control plane.

Tests with an old kubectl are slow too, if a newer one was found (tests/support/kubectl.py).
"""

HEAVY: Final = (
    "tests/cluster/suites/",
    "tests/cluster/components/",
    "tests/cluster/",
    "tests/e2e/",
    "tests/docs/",
    "tests/integration/",
    "tests/contract/",
    "tests/web/",
)
"""Paths whose tests take seconds each. They start first, so that no long test is left when all others are done."""

TOGETHER: Final = ("tests/cluster/suites/", "tests/cluster/components/", "tests/cluster/", "tests/contract/")
"""Paths whose modules share a control plane, which takes long to start: they run on one worker."""

APART: Final = ("tests/docs/test_server_documents.py",)
"""Modules whose tests share nothing and take long: each test may run on another worker."""

MAX_WORKERS: Final = 8
"""Some tests start several QEMUs and control planes; more workers would need more memory than machines have."""


def find_group(nodeid: str) -> str:
    """Return the group of a test; tests of a group run on one worker. By default, a group is a module."""
    if nodeid.startswith(APART):
        return nodeid
    shared = next((path for path in TOGETHER if nodeid.startswith(path)), None)
    return shared or nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """
    Return a scheduler that gives each worker one group of tests after the other, in the order of collection.

    Modules share fixtures, and some rely on the order of their tests, which rules out `--dist load`. `--dist loadgroup`
    would work, but adds the group's name to every test's id.
    """
    from xdist.scheduler import LoadScopeScheduling  # imported here, so that tests can run without xdist

    class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return find_group(nodeid)

    config.option.loadscopereorder = False
    return GroupScheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of workers of `-n auto`: one for each CPU that this process may use."""
    return min(len(os.sched_getaffinity(0)), MAX_WORKERS)


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests, and put heavy ones first."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    return next((rank for rank, path in enumerate(HEAVY) if item.nodeid.startswith(path)), len(HEAVY))
