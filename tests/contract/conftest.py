"""The servers to run each test on; the real one is started once, and only if some test is to run on it."""

from collections.abc import Iterator
from functools import partial

import pytest
from tests.cluster.binaries import require_binaries
from tests.cluster.plane import Plane
from tests.contract.servers import REAL, Serve, serve_own, teach, visit
from tests.support.systems import TRANSPORTS


@pytest.fixture(scope="package")
def bare_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A control plane without controllers, so that nobody else writes anything."""
    with Plane(require_binaries(), tmp_path_factory.mktemp("bare"), with_controllers=False) as running:
        teach(running)
        yield running


@pytest.fixture(params=[*TRANSPORTS, REAL])
def serve(request: pytest.FixtureRequest) -> Serve:
    if request.param == REAL:
        plane = request.getfixturevalue("bare_plane")
        return lambda _: visit(plane)
    return partial(serve_own, request.param)
