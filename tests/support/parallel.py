"""
Test scheduling: which tests are slow, which share a worker, and the order in which they start.

The root conftest loads this module as a pytest plugin. `make test` skips tests marked `slow` here; `make test-all` runs
all tests.
"""

import os
from collections.abc import Sequence
from typing import Final

import pytest

SLOW: Final = (
    "tests/cluster/",
    "tests/conformance/test_live_vectors.py",
    "tests/deploy/test_builders.py",
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
    "tests/node/",
    "tests/packaging/test_ci.py",
    "tests/packaging/test_debian_",
    "tests/packaging/test_install_lines.py::test_install_line_of_the_plugin",
    "tests/packaging/test_install_lines.py::test_install_line_works_in_an_empty_environment[pipx install 'virt",
    "tests/packaging/test_krew.py",
    "tests/packaging/test_kubectl_plugin.py",
    "tests/packaging/test_python.py::test_wheel_runs_commands_and_a_server",
    "tests/packaging/test_release.py",
    "tests/robustness/",
    "tests/web/test_guests.py",
)
"""
Prefixes of the ids of tests that `make test` skips: most tests with guests, attacks or crashes, and all that need a
control plane.

Tests with an old kubectl are slow too, if a newer one was found (tests/support/kubectl.py).
"""

HEAVY: Final = (
    "tests/node/",
    "tests/cluster/suites/",
    "tests/integration/test_lint_agreement.py",
    "tests/e2e/",
    "tests/robustness/",
    "tests/cluster/components/",
    "tests/cluster/",
    "tests/docs/",
    "tests/packaging/",
    "tests/integration/",
    "tests/contract/",
    "tests/web/",
    "tests/deploy/test_builders.py",
)
"""
Paths whose tests take seconds each. They start first, so that the run does not end with one long test.

Other tests separate the paths that start a control plane, so that few control planes run at the same time.
"""

TOGETHER: Final = (
    "tests/node/",
    "tests/cluster/suites/",
    "tests/cluster/components/",
    "tests/cluster/",
    "tests/contract/",
    "tests/packaging/",
)
"""Paths whose modules share a slow fixture, such as a control plane: all tests of a path run on one worker."""

APART: Final = ("tests/docs/test_server_documents.py",)
"""Modules whose tests are slow and share no fixtures: each test may run on another worker."""

WORKERS_PER_CPU: Final = 2
"""Number of workers per CPU for tests of servers, guests and clusters, which spend much of their time waiting."""

MAX_WORKERS: Final = 8
"""Maximum number of workers: some tests start several QEMU processes and control planes, which need much memory."""


def find_group(nodeid: str) -> str:
    """Return the group of a test; tests of a group run on one worker. By default, a group is a module."""
    if nodeid.startswith(APART):
        return nodeid
    shared = next((path for path in TOGETHER if nodeid.startswith(path)), None)
    return shared or nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """
    Return a scheduler that assigns one group of tests at a time to each worker, in the order of collection.

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
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number of workers of `-n auto`."""
    return count_workers(config.args, len(os.sched_getaffinity(0)))


def count_workers(paths: Sequence[str], cpus: int) -> int:
    """Return the number of workers: one for each CPU if only unit tests run, which hardly wait."""
    is_waiting = any(not path.startswith("tests/unit") for path in paths)
    return min(cpus * WORKERS_PER_CPU if is_waiting else cpus, MAX_WORKERS)


@pytest.hookimpl(tryfirst=True)  # runs before `-m` deselects tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests, and move tests that take seconds to the front."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    return next((rank for rank, path in enumerate(HEAVY) if item.nodeid.startswith(path)), len(HEAVY))
