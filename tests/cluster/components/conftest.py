"""One control plane with our installation on it, for all tests of its components."""

from collections.abc import Iterator

import pytest
from tests.cluster.binaries import require_binaries
from tests.cluster.components.site import PATIENCE, Site, Worker
from tests.cluster.plane import Plane
from tests.e2e.kubectl import Kubectl, list_kubectls

from virtshape import catalog
from virtshape.api.codec import to_tree


@pytest.fixture(scope="package")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A plane of its own: here the API server is stopped, and asks webhooks that may be down."""
    with Plane(require_binaries(), tmp_path_factory.mktemp("components")) as running:
        yield running


@pytest.fixture(scope="package", params=list_kubectls()[-1:])
def site(request: pytest.FixtureRequest, plane: Plane, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The installation; its components run once a test asks for them."""
    kubectl = Kubectl(request.param, plane.kubeconfig, tmp_path_factory.mktemp("home"), namespace="")
    site = Site(plane, kubectl, tmp_path_factory.mktemp("workers"))
    site.install()
    return site


@pytest.fixture(scope="package")
def cluster(site: Site) -> Kubectl:
    """The admin of this plane, not of the one that the other tests share."""
    return site.kubectl


@pytest.fixture(scope="package")
def webhook(site: Site) -> Iterator[Worker]:
    """The webhooks, believed by the API server, and the catalogue that they have let in."""
    with site.running("webhook") as worker:
        site.wait_until_trusted()
        site.add(*(to_tree(item) for item in catalog.load()))
        yield worker


@pytest.fixture(scope="package")
def aggregated(site: Site) -> Iterator[Worker]:
    """The subresource API, believed by the API server."""
    with site.running("apiserver") as worker:
        wanted = ("apiservice", "v1.subresources.kubevirt.io", "--for=condition=Available")
        site.kubectl("wait", *wanted, f"--timeout={PATIENCE:g}s")
        yield worker


@pytest.fixture
def controller(site: Site, webhook: Worker) -> Iterator[Worker]:
    """The controllers, at work."""
    del webhook
    with site.running("controller") as worker:
        yield worker
