"""
Carries bytes between two streams, both ways, until either ends.

Waits for whoever is slow; opens and closes neither.
"""

import asyncio
from typing import Final

from virtshape.stream.duplex import Duplex, HangUp

LINGER_SECONDS: Final = 3.0
"""Long enough for most answers; a connection that was left for good looks the same, and is kept for as long."""


class _Flow:
    """One of the two ways; `is_refused` once its sink takes no more."""

    def __init__(self, source: Duplex, sink: Duplex) -> None:
        self._source = source
        self._sink = sink
        self.carried = 0
        self.is_refused = False

    async def run(self) -> None:
        """Carry until the source ends or the sink is gone."""
        while data := await self._source.read():
            self.carried += len(data)
            try:
                await self._sink.write(data)
            except (HangUp, OSError):
                self.is_refused = True
                return


async def relay(near: Duplex, far: Duplex, *, linger: float = 0.0) -> None:
    """
    Carry until one of both ends; HangUp or OSError if it ended otherwise than agreed.

    When the near side has said all, the far one may go on for as long as it is never silent for `linger` seconds.
    """
    outward, inward = _Flow(near, far), _Flow(far, near)
    tasks = [asyncio.create_task(outward.run()), asyncio.create_task(inward.run())]
    outgoing, incoming = tasks
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if outward.is_refused or inward.is_refused:  # what the one that is gone said last is still to be carried
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
