"""Informers under load neither miss nor repeat events, across broken watches and compaction."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace
from tests.support.systems import TRANSPORTS, RunningSystem, Transport, open_system

from virtshape.api.codec import from_tree
from virtshape.api.core.config import ConfigMap
from virtshape.api.status import StatusError
from virtshape.client.cache import Change
from virtshape.client.errors import UnreachableError
from virtshape.client.informer import Informer
from virtshape.client.protocol import Client, WatchEvent
from virtshape.client.resources import metadata_of

NS = "default"
OBJECTS = 20
WRITERS = 4


@pytest.fixture(params=TRANSPORTS)
def form(request: pytest.FixtureRequest) -> Transport:
    chosen: Transport = request.param
    return chosen


class Writer:
    """Creates, updates and deletes objects at random, and records every revision."""

    def __init__(self, client: Client, number: int) -> None:
        self._client = client
        self._number = number
        self._random = random.Random(number)  # noqa: S311 - a test
        self._live: dict[str, ConfigMap] = {}
        self.written: list[tuple[str, str]] = []

    async def work(self, steps: int) -> None:
        for _ in range(steps):
            name = f"w{self._number}-{self._random.randrange(OBJECTS)}"
            if name not in self._live:
                made = await self._client.create(_build(name))
            elif self._random.random() < 0.3:
                await self._client.delete(ConfigMap, name, NS)
                del self._live[name]
                continue
            else:
                made = await self._client.update(replace(self._live[name], data={"x": str(self._random.random())}))
            self._live[name] = made
            self.written.append(_identify(made))


class UnreliableClient:
    """A client whose watches fail at random."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.list = client.list
        self._random = random.Random(1)  # noqa: S311 - a test

    async def watch(self, *arguments: Any, **options: Any) -> AsyncIterator[WatchEvent[Any]]:
        left = self._random.randrange(1, 60)
        async with aclosing(self._client.watch(*arguments, **options)) as events:
            async for event in events:
                yield event
                left -= 1
                if not left:
                    raise UnreachableError("cut off")


class EventRecorder:
    """Records events of an informer and checks that they are consistent."""

    def __init__(self) -> None:
        self.reported: list[tuple[str, str]] = []
        self.known: dict[str, tuple[str, str]] = {}

    def __call__(self, change: Change[ConfigMap]) -> None:
        metadata: Any = change.item.metadata
        before = self.known.get(metadata.name)
        assert (before is None) == (change.type == "ADDED"), change
        if change.type == "DELETED":
            del self.known[metadata.name]
            return
        self.known[metadata.name] = _identify(change.item)
        self.reported.append(_identify(change.item))


def _build(name: str, namespace: str = NS) -> ConfigMap:
    metadata = {"name": name, "namespace": namespace, "labels": {"writer": name.partition("-")[0]}}
    return from_tree({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, ConfigMap)


def _identify(item: ConfigMap) -> tuple[str, str]:
    metadata: Any = item.metadata
    return metadata.uid, metadata.resource_version


@asynccontextmanager
async def running(informer: Informer[ConfigMap]) -> AsyncIterator[None]:
    task = asyncio.create_task(informer.run())
    try:
        await informer.synced.wait()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def wait_until_synced(informer: Informer[ConfigMap], system: RunningSystem) -> None:
    """Wait until the informer matches the server."""
    async with asyncio.timeout(240):
        while True:
            present = {_identify(item) for item in (await system.client.list(ConfigMap, NS)).items}
            if {_identify(item) for item in informer.cache} == present:
                return
            await asyncio.sleep(0.01)


async def test_informer_reports_every_change_once_in_order(form: Transport, tmp_path: Path) -> None:
    async with open_system(form, tmp_path) as system:
        writers = [Writer(system.client, number) for number in range(WRITERS)]
        await asyncio.gather(*(writer.work(20) for writer in writers))
        informer = Informer(system.client, ConfigMap, NS, watch_seconds=1)
        recorder = EventRecorder()
        informer.handle(recorder)
        async with running(informer):
            at_start = set(recorder.known.values())
            marks = [len(writer.written) for writer in writers]
            # Write long enough for watches to end and resume.
            for _ in range(3):
                await asyncio.gather(*(writer.work(60) for writer in writers))
                await asyncio.sleep(0.7)
            await wait_until_synced(informer, system)
        later = [entry for writer, mark in zip(writers, marks, strict=True) for entry in writer.written[mark:]]
        assert len(recorder.reported) == len(set(recorder.reported))
        assert sorted(recorder.reported) == sorted([*at_start, *later])


async def test_informer_recovers_from_compacted_history(
    form: Transport, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")

    async with open_system(form, tmp_path) as system:
        store = system.system.store
        writers = [Writer(system.client, number) for number in range(WRITERS)]
        informer = Informer(cast("Client", UnreliableClient(system.client)), ConfigMap, NS, watch_seconds=1)
        recorder = EventRecorder()
        informer.handle(recorder)

        async def compact() -> None:
            for number in itertools.count():
                await asyncio.sleep(0.05)
                await system.client.create(_build(f"other-{number}", "kube-public"))
                await store.compact(store.revision)

        async with running(informer):
            forgetting = asyncio.create_task(compact())
            for _ in range(3):
                await asyncio.gather(*(writer.work(60) for writer in writers))
                await asyncio.sleep(0.7)
            await wait_until_synced(informer, system)
            forgetting.cancel()
        assert len(recorder.reported) == len(set(recorder.reported))
        assert set(recorder.known.values()) == {_identify(item) for item in informer.cache}
        assert "listing again" in caplog.text


async def test_relist_reports_missed_changes(form: Transport, tmp_path: Path) -> None:
    async with open_system(form, tmp_path) as system:
        client = system.client
        for name in ("stays", "changes", "goes", "anew"):
            await client.create(_build(name))
        informer = Informer(client, ConfigMap, NS)
        reported: list[tuple[str, str]] = []
        async with running(informer):
            informer.handle(lambda change: reported.append((change.type, _name(change.item))))
        reported.clear()
        await client.patch(ConfigMap, "changes", NS, patch={"data": {"x": "1"}})
        await client.delete(ConfigMap, "goes", NS)
        await client.delete(ConfigMap, "anew", NS)
        for name in ("anew", "comes"):
            await client.create(_build(name))
        informer.synced.clear()
        async with running(informer):
            pass
        expected = {("MODIFIED", "changes"), ("DELETED", "goes"), ("DELETED", "anew"), ("ADDED", "anew")}
        assert set(reported) == expected | {("ADDED", "comes")}
        assert reported.index(("DELETED", "anew")) < reported.index(("ADDED", "anew"))


def _name(item: ConfigMap) -> str:
    metadata: Any = item.metadata
    return str(metadata.name)


async def test_informer_reconnects_after_its_connections_were_closed(tmp_path: Path) -> None:
    async with open_system("http", tmp_path) as system:
        recorder = EventRecorder()
        informer = Informer(system.client, ConfigMap, NS)
        informer.handle(recorder)
        async with running(informer):
            await system.client.create(_build("a"))
            kept: list[Any] = system.client._transport._idle  # type: ignore[attr-defined]  # noqa: SLF001
            for connection in list(system.connections):
                connection.close()
            while any(
                one.reusable for one in kept
            ):  # wait until the client has noticed the closed connections, because creates are not retried
                await asyncio.sleep(0.01)
            await system.client.create(_build("b"))
            await wait_until_synced(informer, system)
        assert sorted(recorder.known) == ["a", "b"]
        assert len(recorder.reported) == 2


def _index_by_writer(item: ConfigMap) -> list[str]:
    labels = metadata_of(item).labels or {}
    return [labels["writer"]] if "writer" in labels else []


async def test_informer_finds_paged_objects_by_name_namespace_and_index(form: Transport, tmp_path: Path) -> None:
    async with open_system(form, tmp_path) as system:
        await asyncio.gather(*(system.client.create(_build(f"m{number}-x")) for number in range(1100)))
        informer = Informer(system.client, ConfigMap, indexes={"writer": _index_by_writer})
        async with running(informer):
            assert len(informer.cache) == 1100
            assert len(informer.cache.list(NS)) == 1100
            assert informer.cache.list("kube-system") == []
            found = informer.cache.find("m7-x", NS)
            assert found is not None
            assert informer.cache.find_by("writer", "m7") == [found]
            assert informer.cache.find("m7-x", "kube-system") is None


async def test_resync_reports_all_objects_again(tmp_path: Path) -> None:
    async with open_system("in-process", tmp_path) as system:
        await system.client.create(_build("a"))
        reported: list[str] = []
        informer = Informer(system.client, ConfigMap, NS, resync_seconds=0.05)
        informer.handle(lambda change: reported.append(change.type))
        async with running(informer):
            while reported.count("RESYNCED") < 2:
                await asyncio.sleep(0.01)
        assert reported[0] == "ADDED"


async def test_failing_handler_does_not_affect_other_handlers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Change[ConfigMap]) -> None:
        raise StatusError(500, "", "no")

    async with open_system("in-process", tmp_path) as system:
        await system.client.create(_build("a"))
        informer = Informer(system.client, ConfigMap, NS)
        recorder = EventRecorder()
        informer.handle(fail)
        informer.handle(recorder)
        async with running(informer):
            assert list(recorder.known) == ["a"]
    assert f"ConfigMap {NS}/a: a handler for the ADDED change failed; other handlers are still called" in caplog.text
