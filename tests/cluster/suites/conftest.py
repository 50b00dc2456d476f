"""A control plane with virtshape installed, and with running webhooks and aggregated API."""

from collections.abc import Iterator

import pytest
from tests.cluster.components.installation import Installation
from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import require_binaries
from tests.support.kubectl import Kubectl, list_kubectls


@pytest.fixture(scope="package")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A separate control plane, because a second fake storage provider would bind the same claims."""
    directory = tmp_path_factory.mktemp("whole")
    without = ["persistentvolume-binder-controller", "deployment-controller"]
    with ControlPlane(require_binaries(), directory, without=without) as running:
        yield running


@pytest.fixture(scope="package", params=list_kubectls()[-1:])
def installation(
    request: pytest.FixtureRequest, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The installation with running webhooks and aggregated API."""
    kubectl = Kubectl(request.param, plane.kubeconfig, tmp_path_factory.mktemp("home"), namespace="")
    installation = Installation(plane, kubectl, tmp_path_factory.mktemp("workers"), cdi=True)
    installation.install()
    with installation.running("webhook"), installation.running("apiserver"):
        installation.wait_until_trusted()
        installation.wait_until_proxied()
        yield installation
