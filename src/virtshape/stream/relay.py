"""
Relay bytes between two streams in both directions until either ends.

Back-pressure applies in both directions. The caller opens and closes the streams.
"""

import asyncio
from typing import Final

from virtshape.stream.duplex import Duplex, StreamClosed

LINGER_SECONDS: Final = 3.0
"""How long to wait for further data after one side has finished sending."""


class _Flow:
    """One direction of a relay; `is_refused` is True if the sink was closed before the source ended."""

    def __init__(self, source: Duplex, sink: Duplex) -> None:
        self._source = source
        self._sink = sink
        self.carried = 0
        self.is_refused = False

    async def run(self) -> None:
        """Copy until the source ends or the sink is closed."""
        while data := await self._source.read():
            self.carried += len(data)
            try:
                await self._sink.write(data)
            except (StreamClosed, OSError):
                self.is_refused = True
                return


async def relay(near: Duplex, far: Duplex, *, linger: float = 0.0) -> None:
    """
    Copy data in both directions until a stream ends; raise StreamClosed or OSError if it did not end normally.

    After the near side ends, the far side may keep sending until it is silent for `linger` seconds.
    """
    outward, inward = _Flow(near, far), _Flow(far, near)
    tasks = [asyncio.create_task(outward.run()), asyncio.create_task(inward.run())]
    outgoing, incoming = tasks
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if outward.is_refused or inward.is_refused:  # deliver the data that the closed side sent before it closed
            await asyncio.wait(tasks)
        elif linger and not incoming.done() and outgoing.exception() is None:
            await _wait_for_silence(incoming, inward, linger)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error


async def _wait_for_silence(task: asyncio.Task[None], flow: _Flow, seconds: float) -> None:
    carried = -1
    while not task.done() and carried != flow.carried:
        carried = flow.carried
        await asyncio.wait([task], timeout=seconds)
