"""Informers of kinds that are not always available on the server."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from virtshape.api.codec import from_tree
from virtshape.api.core.config import ConfigMap
from virtshape.api.status import StatusError
from virtshape.client import informer as informing
from virtshape.client.informer import Informer
from virtshape.client.protocol import Client, Listing, WatchEvent

ITEM = from_tree(
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"}}, ConfigMap
)


class Server:
    """A server that serves a kind, or returns 404 for it."""

    def __init__(self, *, has: bool) -> None:
        self.has = has
        self.listed = 0

    async def list(self, kind: type[Any], *given: Any, **named: Any) -> Listing[Any]:
        del kind, given, named
        self.listed += 1
        if not self.has:
            raise StatusError(404, "NotFound", "404 page not found")
        return Listing([ITEM], "1")

    async def watch(self, *given: Any, **named: Any) -> AsyncGenerator[WatchEvent[Any], None]:
        del given, named
        if not self.has:
            raise StatusError(410, "Expired", "too old")
        await asyncio.Event().wait()
        yield WatchEvent("BOOKMARK", "1")


async def follow(server: Server, informer: Informer[ConfigMap], until: Any) -> None:
    running = asyncio.create_task(informer.run())
    async with asyncio.timeout(240):
        while not until():
            await asyncio.sleep(0.005)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    del server


async def test_informer_of_a_missing_kind_is_empty_until_the_kind_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informing, "ABSENCE_SECONDS", 0.01)

    server = Server(has=False)
    informer = Informer(cast("Client", server), ConfigMap)
    await follow(server, informer, lambda: server.listed > 2)
    assert informer.synced.is_set()
    assert len(informer.cache) == 0
    server.has = True
    await follow(server, informer, lambda: len(informer.cache) == 1)


async def test_informer_keeps_known_objects_when_a_relist_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informing, "FIRST_PAUSE", 0.01)

    server = Server(has=True)
    informer = Informer(cast("Client", server), ConfigMap)
    await follow(server, informer, lambda: len(informer.cache) == 1)
    server.has = False
    listed = server.listed
    await follow(server, informer, lambda: server.listed > listed)
    assert len(informer.cache) == 1
