"""Scrapes are encoded one at a time, even if clients disconnect."""

import asyncio
import threading

import pytest

from virtshape.apiserver.message import Response
from virtshape.daemon.metrics import scrape
from virtshape.daemon.metrics.scrape import Scraper


async def test_scrape_waits_for_the_scrape_of_a_client_that_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    started, proceed = threading.Semaphore(0), threading.Event()

    def encode(*_: object) -> Response:
        started.release()
        proceed.wait(240)
        return Response(200, b"")

    monkeypatch.setattr(scrape, "_encode", encode)
    scraper = Scraper(list)
    first = asyncio.ensure_future(scraper.answer(None))  # type: ignore[arg-type] # not read
    await asyncio.to_thread(started.acquire)
    first.cancel()
    second = asyncio.ensure_future(scraper.answer(None))  # type: ignore[arg-type] # not read
    assert not await asyncio.to_thread(started.acquire, timeout=0.2)
    proceed.set()
    assert (await second).status == 200
