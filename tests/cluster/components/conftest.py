"""A control plane with virtshape installed, shared by all component tests."""

import json
from collections.abc import Iterator
from datetime import datetime

import pytest
from tests.cluster.components.installation import HOST, ComponentProcess, Installation
from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import require_binaries
from tests.support.kubectl import Kubectl, list_kubectls

from virtshape import catalog
from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject

SYNC_SECONDS = 60.0


@pytest.fixture(scope="package")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A separate control plane, because these tests stop the API server and the webhooks."""
    with ControlPlane(require_binaries(), tmp_path_factory.mktemp("components")) as running:
        yield running


@pytest.fixture(scope="package", params=list_kubectls()[-1:])
def installation(
    request: pytest.FixtureRequest, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Installation:
    """virtshape installed on the control plane; other fixtures start its components."""
    kubectl = Kubectl(request.param, plane.kubeconfig, tmp_path_factory.mktemp("home"), namespace="")
    installation = Installation(plane, kubectl, tmp_path_factory.mktemp("workers"))
    installation.install()
    return installation


@pytest.fixture(scope="package")
def cluster(installation: Installation) -> Kubectl:
    """kubectl as the admin of this control plane."""
    return installation.kubectl


@pytest.fixture(scope="package")
def webhook(installation: Installation) -> Iterator[ComponentProcess]:
    """The running webhooks, trusted by the API server, with the catalog installed."""
    with installation.running("webhook") as worker:
        installation.wait_until_trusted()
        installation.add(*(to_tree(item) for item in catalog.load()))
        yield worker


@pytest.fixture(scope="package")
def aggregated(installation: Installation) -> Iterator[ComponentProcess]:
    """The running subresource API, trusted by the API server."""
    with installation.running("apiserver") as worker:
        installation.wait_until_proxied()
        yield worker


@pytest.fixture(scope="package")
def console(installation: Installation) -> Iterator[str]:
    """The URL of the running web console; at the end, its log must contain neither tokens nor forbidden requests."""
    with installation.running("console", f"--host={HOST}") as worker:
        yield f"https://{HOST}:{installation.https['console']}"
    log = worker.log.read_text()
    assert "eyJ" not in log, "the log contains a JSON Web Token"
    lines = [json.loads(line) for line in log.splitlines() if "forbidden" in line]
    assert [line for line in lines if not _is_after_restart(installation.plane, line)] == []


def _is_after_restart(plane: ControlPlane, line: JsonObject) -> bool:
    """Return True for a line that was logged while a restarted API server may not know all role bindings yet."""
    logged = datetime.fromisoformat(line["time"]).timestamp()
    return any(0 <= logged - restarted < SYNC_SECONDS for restarted in plane.started_at[1:])


@pytest.fixture
def controller(installation: Installation, webhook: ComponentProcess) -> Iterator[ComponentProcess]:
    """The running controllers."""
    del webhook
    with installation.running("controller") as worker:
        yield worker
