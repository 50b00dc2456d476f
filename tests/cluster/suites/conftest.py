"""One control plane with all of our installation on it, its components at work, and nodes that are played."""

from collections.abc import Iterator

import pytest
from tests.cluster.binaries import require_binaries
from tests.cluster.components.installation import Installation
from tests.cluster.controlplane import ControlPlane
from tests.e2e.kubectl import Kubectl, list_kubectls


@pytest.fixture(scope="package")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A plane of its own; claims are bound by whoever plays storage, and two would never agree."""
    directory = tmp_path_factory.mktemp("whole")
    with ControlPlane(require_binaries(), directory, without=["persistentvolume-binder-controller"]) as running:
        yield running


@pytest.fixture(scope="package", params=list_kubectls()[-1:])
def installation(
    request: pytest.FixtureRequest, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The installation, with all that answers the API server at work."""
    kubectl = Kubectl(request.param, plane.kubeconfig, tmp_path_factory.mktemp("home"), namespace="")
    installation = Installation(plane, kubectl, tmp_path_factory.mktemp("workers"), cdi=True)
    installation.install()
    with installation.running("webhook"), installation.running("apiserver"):
        installation.wait_until_trusted()
        kubectl("wait", "apiservice", "v1.subresources.kubevirt.io", "--for=condition=Available", "--timeout=60s")
        yield installation
