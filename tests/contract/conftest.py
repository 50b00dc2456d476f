"""The servers that each contract test runs on; a real kube-apiserver is started once, if a test needs it."""

from collections.abc import Iterator
from functools import partial

import pytest
from tests.contract.servers import REAL, Serve, install_kinds, serve_standalone, use_plane
from tests.support.controlplane import ControlPlane
from tests.support.controlplanebinaries import require_binaries
from tests.support.systems import TRANSPORTS


@pytest.fixture(scope="package")
def bare_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane without controllers, so that only tests write objects."""
    directory = tmp_path_factory.mktemp("bare")
    with ControlPlane(require_binaries(), directory, with_controllers=False, progress_interval="500ms") as running:
        install_kinds(running)
        yield running


@pytest.fixture(params=[*TRANSPORTS, REAL])
def serve(request: pytest.FixtureRequest) -> Serve:
    if request.param == REAL:
        plane = request.getfixturevalue("bare_plane")
        return lambda _: use_plane(plane)
    return partial(serve_standalone, request.param)
