"""The planner of previews, with a client that counts its requests."""

import asyncio
from typing import Any, cast

import pytest
from tests.support.build import build_instancetype_spec
from tests.support.instances import build_node

from virtshape.api.core.node import Node
from virtshape.api.status import StatusError
from virtshape.api.wellknown import SCHEDULABLE_LABEL
from virtshape.client.protocol import Listing
from virtshape.daemon.planner import MAX_AGE_SECONDS, ControllerPlanner
from virtshape.engine.capacity import build_empty_vm
from virtshape.engine.expand import Shape
from virtshape.offline.importpreview import preview_import


class FakeClient:
    """A client of a cluster with two nodes, listed in pages of one, and without pods and instances."""

    def __init__(self) -> None:
        self.reads = 0

    async def list(self, kind: type[Any], *, limit: int, continuation: str) -> Listing[Any]:
        assert limit
        if kind is not Node:
            return Listing([], "1")
        self.reads += 1
        node = build_node(labels={SCHEDULABLE_LABEL: "true"})
        return Listing([node], "1", "" if continuation else "more")


@pytest.fixture
def client() -> FakeClient:
    return FakeClient()


def measure(client: FakeClient, *times: float) -> list[int]:
    """Return the number of VMs that fit at each of the given times."""
    now = 0.0
    planner = ControllerPlanner(lambda: cast("Any", client), preview_import, lambda: now)
    shape = Shape(build_instancetype_spec(cpu={"guest": 1}, memory={"guest": "1Gi"}))

    async def run() -> list[int]:
        nonlocal now
        counts = []
        for time in times:
            now = time
            (capacity,) = await planner.measure([(build_empty_vm(), shape)], None)
            counts.append(capacity.fits)
        return counts

    return asyncio.run(run())


def test_all_pages_of_nodes_are_counted(client: FakeClient) -> None:
    assert measure(client, 0) == [16]
    assert client.reads == 2


def test_nodes_are_read_again_after_five_seconds(client: FakeClient) -> None:
    measure(client, 0, 1, 1 + MAX_AGE_SECONDS)
    assert client.reads == 4


class RefusingClient(FakeClient):
    """A client that may not list nodes."""

    async def list(self, kind: type[Any], *, limit: int, continuation: str) -> Listing[Any]:
        del kind, limit, continuation
        raise StatusError(403, "Forbidden", "nodes is forbidden")


def test_missing_permission_to_list_nodes_is_explained() -> None:
    with pytest.raises(StatusError, match="this installation runs no guests: nodes is forbidden") as refused:
        measure(RefusingClient(), 0)
    assert refused.value.code == 400
