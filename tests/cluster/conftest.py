"""A real control plane for all cluster tests, and kubectl as its admin."""

import itertools
from collections.abc import Iterator

import pytest
from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import require_binaries
from tests.support.kubectl import Kubectl, list_kubectls

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(require_binaries(), tmp_path_factory.mktemp("plane")) as running:
        yield running


@pytest.fixture(scope="package", params=list_kubectls()[-1:])
def cluster(request: pytest.FixtureRequest, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """The newest kubectl as the admin, without a default namespace."""
    return Kubectl(request.param, plane.kubeconfig, tmp_path_factory.mktemp("home"), namespace="")


@pytest.fixture
def namespace(plane: ControlPlane) -> str:
    """A separate namespace for the test."""
    name = f"test-{next(_numbers)}"
    tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    code, answer = plane.request("POST", "/api/v1/namespaces", tree)
    assert code == 201, answer
    assert plane.controllers is not None
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    plane.controllers.wait(lambda: plane.request("GET", account)[0] == 200)  # pods and tokens need it
    return name


@pytest.fixture
def kubectl(cluster: Kubectl, namespace: str) -> Kubectl:
    """The newest kubectl, in the test's namespace."""
    return cluster.in_namespace(namespace)
