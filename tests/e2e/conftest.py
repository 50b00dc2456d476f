"""A server for most tests, a server with guests, a namespace for each test, and all available kubectls."""

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.demo import get_demo
from tests.support.demoguests import Guests
from tests.support.kubectl import Kubectl, list_kubectls
from tests.support.upprocess import System, wait_until

from virtshape.launcher.images.demo.build import DemoGuest
from virtshape.launcher.node.requirements import find_missing_packages

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with System(tmp_path_factory.mktemp("system") / "data") as running:
        yield running
    log = running.log.read_text()
    assert "ERROR" not in log, log
    assert "Traceback" not in log, log


@pytest.fixture(scope="session")
def demo(request: pytest.FixtureRequest) -> DemoGuest:
    """The files of the demo guest; skips on machines that cannot run guests."""
    if missing_packages := find_missing_packages():
        pytest.skip(f"guests cannot run: install {', '.join(missing_packages)}")
    return get_demo(request.config)


@pytest.fixture(scope="session")
def guests(
    request: pytest.FixtureRequest, demo: DemoGuest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Guests]:
    """A server that runs guests and has the demo image."""
    data = tmp_path_factory.mktemp("guests") / "data"
    (data / "images" / "demo").mkdir(mode=0o700, parents=True)
    for path in (*demo, *get_demo(request.config, "full")):
        shutil.copy(path, data / "images" / "demo")
    with System(data, "--launcher", "qemu") as system:
        running = Guests(system)
        yield running
        running.delete_all()
    log = system.log.read_text()
    assert "ERROR" not in log, log
    assert "Traceback" not in log, log


@pytest.fixture(scope="session", params=list_kubectls())
def cluster(request: pytest.FixtureRequest, system: System, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl as the admin, once for each available version."""
    return Kubectl(request.param, system.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture
def namespace(system: System) -> str:
    """A namespace for the test, with its default service account."""
    name = f"test-{next(_numbers)}"
    tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    code, answer = system.request("POST", "/api/v1/namespaces", tree)
    assert code == 201, answer
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    wait_until(lambda: system.request("GET", account)[0] == 200, f"{name} has no default service account")
    return name


@pytest.fixture
def kubectl(cluster: Kubectl, namespace: str) -> Kubectl:
    """kubectl in the test's namespace, once for each available version."""
    return cluster.in_namespace(namespace)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The path of a data directory that does not exist yet."""
    return tmp_path / "data"
