"""
Control loop: workers that take object names from a work queue and reconcile them.

The loop is level-based: a reconciler gets a name and no event. Only this loop catches unexpected exceptions: it logs
them, backs off and reports the failure.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from msgspec import Struct

from virtshape.api.status import StatusError
from virtshape.client.cache import ObjectKey
from virtshape.client.errors import UnreachableError
from virtshape.controllers.runtime.counters import LoopCounters
from virtshape.controllers.runtime.workqueue import WorkQueue
from virtshape.resolve.reference import NotFoundError
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import CONTROLLERS

DEFAULT_WORKERS: Final = 8
_log = logging.getLogger(__name__)


Name = ObjectKey
"""Namespace and name of the object to reconcile."""


class Result(Struct, frozen=True):
    """Result of a reconcile: done if `after` is None, or requeue after this many seconds."""

    after: float | None = None


DONE: Final = Result()

Reconcile = Callable[[Name], Awaitable[Result]]
Report = Callable[[Name, Exception], Awaitable[None]]


async def report_nothing(name: Name, error: Exception) -> None:
    """Do nothing, because the loop already logs the failure."""


class Loop:
    """Reconciles the names of one work queue with several workers."""

    def __init__(
        self,
        title: str,
        reconcile: Reconcile,
        *,
        report: Report = report_nothing,
        workers: int = DEFAULT_WORKERS,
    ) -> None:
        self.queue: WorkQueue[Name] = WorkQueue()
        self.counters = LoopCounters()
        self.title = title
        self._reconcile = reconcile
        self._report = report
        self._workers = workers

    @contextlib.asynccontextmanager
    async def running(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Run the workers while the block lasts."""
        try:
            async with supervisor.running(CONTROLLERS, self._run_workers, item=self.title):
                yield
        finally:
            self.queue.close()

    async def _run_workers(self) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"{self.title}-{number}")

    async def _work(self) -> None:
        while True:
            name = await self.queue.get()
            try:
                await self.step(name)
            finally:
                self.queue.done(name)

    async def step(self, name: Name) -> None:
        """Reconcile one name; requeue it with back-off on failure."""
        began = time.monotonic()
        try:
            result = await self._reconcile(name)
        except StatusError as error:
            await self._fail(name, error, expected=error.code < 500)
        except UnreachableError as error:
            await self._fail(name, error, expected=True)
        except Exception as error:  # noqa: BLE001 - a failing object must not stop the others
            await self._fail(name, error, expected=False)
        else:
            self.queue.forget(name)
            self.counters.outcomes["done" if result.after is None else "again"] += 1
            if result.after is not None:
                self.queue.add_after(name, result.after)
        finally:
            self.counters.durations.add(time.monotonic() - began)

    async def _fail(self, name: Name, error: Exception, *, expected: bool) -> None:
        is_first = not self.queue.has_failed(name)
        seconds = self.queue.retry(name)
        self.counters.outcomes["raced" if is_race(error) else "failed"] += 1
        if is_race(error):
            _log.debug("reconciling %s %s: %s; retrying in %.3f s", self.title, name, error, seconds)
            return
        # Log the traceback only once: repetitions add nothing.
        trace = error if is_first and not expected else None
        _log.warning(
            "reconciling %s %s failed: %s; retrying in %.3f s", self.title, name, error, seconds, exc_info=trace
        )
        try:
            await self._report(name, error)
        except (StatusError, UnreachableError) as failure:
            _log.info("reporting the failure of %s %s failed: %s", self.title, name, failure)


def is_race(error: Exception) -> bool:
    """Return True if the error is a conflict with another writer, which the next reconcile resolves."""
    if not isinstance(error, StatusError) or isinstance(error, NotFoundError):
        return False
    return error.code == 404 or (error.code == 409 and error.reason in ("Conflict", "AlreadyExists"))
