"""The pytest plugins of this project: skipped tests fail in CI, tests are grouped by worker, and time is limited."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.deadline import OTHER_SECONDS, UNIT_SECONDS, get_limit, limit
from tests.support.documents import ROOT
from tests.support.parallel import APART, HEAVY, MAX_WORKERS, SLOW, TOGETHER, count_workers, find_group
from tests.support.skipping import IMPOSSIBLE

SKIPPED = f"""
import pytest

@pytest.mark.skip(reason="no helm")
def test_marked() -> None: ...

@pytest.fixture
def helm() -> None:
    pytest.skip("no helm")

def test_in_its_fixture(helm) -> None: ...

def test_impossible() -> None:
    pytest.skip({f"{IMPOSSIBLE}IPv6 is not available"!r})

@pytest.mark.xfail
def test_expected_to_fail() -> None:
    raise AssertionError
"""


def run_pytest(folder: Path, **environment: str) -> str:
    path = folder / "test_sample.py"
    path.write_text(SKIPPED)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.support.skipping", path],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "CI"}
        | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        | environment,
    )
    return ran.stdout


def test_missing_component_skips_a_test_locally_and_fails_it_in_ci(tmp_path: Path) -> None:
    assert "3 skipped, 1 xfailed" in run_pytest(tmp_path)
    shown = run_pytest(tmp_path, CI="true")
    assert "tests must not be skipped while CI is set: Skipped: no helm" in shown
    assert "1 skipped, 1 xfailed, 2 errors" in shown


@pytest.mark.parametrize("path", sorted({*SLOW, *HEAVY, *TOGETHER, *APART}))
def test_every_path_in_the_scheduling_tables_exists(path: str) -> None:
    assert list(ROOT.glob(f"{path.partition('::')[0].rstrip('/')}*"))


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        ("tests/unit/api/test_codec.py::test_a[b::c]", "tests/unit/api/test_codec.py"),
        ("src/virtshape/engine/cpu.py::virtshape.engine.cpu.f", "src/virtshape/engine/cpu.py"),
        ("tests/cluster/test_kinds.py::test_a", "tests/cluster/"),
        ("tests/cluster/components/test_pods.py::test_a", "tests/cluster/components/"),
        ("tests/docs/test_server_documents.py::test_a[b]", "tests/docs/test_server_documents.py::test_a[b]"),
    ],
)
def test_scheduling_group_of_a_test_is_its_module_unless_configured(nodeid: str, group: str) -> None:
    assert find_group(nodeid) == group


@pytest.mark.parametrize(
    ("paths", "cpus", "workers"),
    [
        (["tests/unit"], 2, 2),
        (["tests/unit/engine", "tests/unit/api/test_codec.py::test_a"], 2, 2),
        (["tests", "src", "docs", "README.md"], 2, 4),
        (["tests/unit", "tests/e2e"], 2, 4),
        (["tests/e2e"], 16, MAX_WORKERS),
        (["tests/unit"], 16, MAX_WORKERS),
    ],
)
def test_number_of_workers_exceeds_the_number_of_cpus_unless_only_unit_tests_run(
    paths: list[str], cpus: int, workers: int
) -> None:
    assert count_workers(paths, cpus) == workers


async def test_async_test_that_waits_forever_fails() -> None:
    with pytest.raises(TimeoutError):
        await limit(asyncio.Event().wait, 0.01)()  # type: ignore[arg-type]  # its result is not used


def test_only_unit_tests_have_the_short_time_limit() -> None:
    assert get_limit("tests/unit/test_plugins.py::test_a") == UNIT_SECONDS
    assert get_limit("tests/integration/test_watching.py::test_a") == OTHER_SECONDS
