"""Previews of imports are computed one at a time, even if clients disconnect."""

import asyncio
import threading

from virtshape.apiserver.subresources.previews import Previews
from virtshape.apiserver.subresources.route import IMPORT, ActionRoute
from virtshape.resolve.importrequest import ImportPreview, ImportRequest


class BlockedPlanner:
    """A planner whose previews wait until the test lets them proceed."""

    def __init__(self) -> None:
        self.started = threading.Semaphore(0)
        self.proceed = threading.Event()

    def preview_import(self, _: ImportRequest) -> ImportPreview:
        self.started.release()
        self.proceed.wait(240)
        return ImportPreview([], [])


async def test_preview_of_an_import_waits_for_that_of_a_client_that_disconnected() -> None:
    planner = BlockedPlanner()
    previews = Previews(None, planner)  # type: ignore[arg-type] # imports use no stored objects
    route = ActionRoute("v1", "default", IMPORT, "", "", "update")

    def request() -> asyncio.Future[bytes]:
        return asyncio.ensure_future(previews.answer(b'{"files": []}', route, None))  # type: ignore[arg-type]

    first = request()
    await asyncio.to_thread(planner.started.acquire)
    first.cancel()
    second = request()
    assert not await asyncio.to_thread(planner.started.acquire, timeout=0.2)
    planner.proceed.set()
    assert await second == b'{"problems":[],"items":[]}'
