"""One server for all tests, and a client and a namespace for each test."""

import itertools
import time
from collections.abc import Iterator

import pytest
from tests.integration.objects import NamespacePaths
from tests.support.loopback import TIMEOUT, Client, LoopbackServer

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackServer]:
    with LoopbackServer(tmp_path_factory.mktemp("serving") / "data") as running:
        yield running


@pytest.fixture
def client(server: LoopbackServer) -> Iterator[Client]:
    connected = server.connect()
    yield connected
    connected.close()


@pytest.fixture
def paths(client: Client) -> NamespacePaths:
    """A namespace with only its default service account."""
    name = f"test-{next(_numbers)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    assert client.post("/api/v1/namespaces", body).status == 201
    made = NamespacePaths(name)
    deadline = time.monotonic() + TIMEOUT
    while client.get(made.core("serviceaccounts", "default")).status != 200:
        assert time.monotonic() < deadline
    return made
