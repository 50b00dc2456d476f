"""One system for all tests, and for each test a client and a namespace of its own."""

import itertools
import time
from collections.abc import Iterator

import pytest
from tests.integration.objects import Place
from tests.support.loopback import PATIENCE, Client, Serving

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("serving") / "data") as running:
        yield running


@pytest.fixture
def client(serving: Serving) -> Iterator[Client]:
    connected = serving.connect()
    yield connected
    connected.close()


@pytest.fixture
def place(client: Client) -> Place:
    """A namespace that nothing is in but the account that each is given in a moment."""
    name = f"test-{next(_numbers)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    assert client.post("/api/v1/namespaces", body).status == 201
    made = Place(name)
    deadline = time.monotonic() + PATIENCE
    while client.get(made.core("serviceaccounts", "default")).status != 200:
        assert time.monotonic() < deadline
    return made
