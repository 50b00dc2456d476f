"""One running system for most tests, a namespace for each of them, and every kubectl there is."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.kubectl import Kubectl, list_kubectls
from tests.e2e.system import System

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with System(tmp_path_factory.mktemp("system") / "data") as running:
        yield running
    log = running.log.read_text()
    assert "ERROR" not in log, log
    assert "Traceback" not in log, log


@pytest.fixture(scope="session", params=list_kubectls())
def cluster(request: pytest.FixtureRequest, system: System, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Each kubectl, as the admin."""
    return Kubectl(request.param, system.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture
def namespace(system: System) -> str:
    """A namespace of the test's own."""
    name = f"test-{next(_numbers)}"
    tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    code, answer = system.ask("POST", "/api/v1/namespaces", tree)
    assert code == 201, answer
    return name


@pytest.fixture
def kubectl(cluster: Kubectl, namespace: str) -> Kubectl:
    """Each kubectl, in the test's namespace."""
    return cluster.within(namespace)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that is not there yet."""
    return tmp_path / "data"
