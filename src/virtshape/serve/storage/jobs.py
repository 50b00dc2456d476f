"""
Work in threads that goes on while others ask how far it is: a few jobs at a time, each known by a key.

Knows nothing of what the work is.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Final

from virtshape.control.storage.protocol import Wake, Work
from virtshape.launcher.images.errors import ImageError, RefusedImageError
from virtshape.launcher.images.progress import Progress, until

MOST_AT_ONCE: Final = 4
QUICK_SECONDS: Final = 0.05
_log = logging.getLogger(__name__)

Task = Callable[[Progress], int]
"""Does the work, telling how far it is; the size of what came of it."""


class Job:
    """One piece of work; `purpose` tells apart what is done under the same key."""

    def __init__(self, purpose: str, attempt: int, reads: str, writes: str) -> None:
        self.purpose = purpose
        self.attempt = attempt
        self.reads = reads
        self.writes = writes
        self.work = Work(state="waiting")
        self.stop = Event()
        self.future: asyncio.Future[None] | None = None

    def report(self, done: int, total: int | None) -> None:
        """Take note of how far the work is."""
        self.work = Work(state="running", progress=100.0 * done / total if total else None)

    def do(self, task: Task) -> None:
        """Do the work, and take note of what came of it."""
        if self.stop.is_set():
            return
        self.work = Work(state="running")
        try:
            size = task(until(self.stop, self.report))
        except RefusedImageError as error:
            self.work = Work(state="failed", message=str(error), final=True)
        except ImageError as error:
            self.work = Work(state="failed", message=str(error), final=False)
        except OSError as error:
            self.work = Work(state="failed", message=_describe(error))
        except Exception as error:  # noqa: BLE001 - told to whoever waits for the work, and logged
            _log.exception("%s failed", self.purpose)
            self.work = Work(state="failed", message=f"{type(error).__name__}: {error}")
        else:
            self.work = Work(state="done", progress=100.0, size=size)


class Jobs:
    """All work under way."""

    def __init__(self, most_at_once: int = MOST_AT_ONCE) -> None:
        self._pool = ThreadPoolExecutor(most_at_once, thread_name_prefix="storage")
        self._jobs: dict[str, Job] = {}

    def find(self, key: str, purpose: str, attempt: int) -> Job | None:
        """The work of this key, if it was begun for this purpose, and not for an attempt before this one."""
        job = self._jobs.get(key)
        return job if job is not None and job.purpose == purpose and job.attempt >= attempt else None

    async def begin(
        self, key: str, purpose: str, attempt: int, task: Task, wake: Wake, *, reads: str = "", writes: str = ""
    ) -> Work:
        """Begin work, after what else was done under its key has ended; how far it is a moment later."""
        await self.end(key)
        job = self._jobs[key] = Job(purpose, attempt, reads, writes)
        loop = asyncio.get_running_loop()
        job.future = loop.run_in_executor(self._pool, job.do, task)
        job.future.add_done_callback(lambda _: wake())
        await asyncio.wait({job.future}, timeout=QUICK_SECONDS)
        return job.work

    async def end(self, key: str) -> None:
        """Have work stop, and wait until it has."""
        job = self._jobs.pop(key, None)
        if job is None or job.future is None:
            return
        job.stop.set()
        await asyncio.wait({job.future})

    async def end_of(self, volume: str) -> None:
        """Have all work stop that reads or writes a volume."""
        for key in [key for key, job in self._jobs.items() if volume in (job.reads, job.writes)]:
            await self.end(key)

    def is_reading(self, volume: str) -> bool:
        """Whether work under way reads a volume."""
        return any(job.reads == volume and job.work.state in ("waiting", "running") for job in self._jobs.values())

    async def close(self) -> None:
        """Have all work stop."""
        for key in list(self._jobs):
            await self.end(key)
        self._pool.shutdown()


def _describe(error: OSError) -> str:
    return f"{error.strerror}: {error.filename}" if error.filename and error.strerror else str(error)
