"""
Control loop: workers that take object names from a work queue and reconcile them.

The loop is level-based: a reconciler receives the name of an object, not an event. Only this loop catches unexpected
exceptions: the loop logs them, backs off and reports the failure.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Final, NamedTuple

from msgspec import Struct

from virtshape.api.status import StatusError
from virtshape.client.cache import ObjectKey
from virtshape.client.errors import UnreachableError
from virtshape.controllers.runtime.workqueue import WorkQueue
from virtshape.resolve.reference import NotFoundError
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import CONTROLLERS
from virtshape.telemetry.histogram import Histogram

DEFAULT_WORKERS: Final = 8
_log = logging.getLogger(__name__)


Name = ObjectKey
"""Namespace and name of the object to reconcile."""


class Reconciled(NamedTuple):
    """The object that a control loop reconciles; `controller` is the title of the loop."""

    controller: str
    name: Name


CURRENT_RECONCILE: Final[ContextVar[Reconciled | None]] = ContextVar("current_reconcile", default=None)
"""The object that is being reconciled, for log lines."""


class Result(Struct, frozen=True):
    """
    Result of a reconcile: done if `after` is None, or requeue after this many seconds.

    With `postpone`, changes that arrived during the reconcile also wait that long.
    """

    after: float | None = None
    postpone: bool = False


DONE: Final = Result()

Reconcile = Callable[[Name], Awaitable[Result]]
Report = Callable[[Name, Exception], Awaitable[None]]


async def report_nothing(name: Name, error: Exception) -> None:
    """Do nothing, because the loop already logs the failure."""


class LoopCounters:
    """Outcomes and durations of one control loop, for metrics."""

    def __init__(self) -> None:
        self.outcomes = {"done": 0, "again": 0, "raced": 0, "failed": 0}
        """Numbers of reconciles that succeeded, were requeued, conflicted with another writer, or failed."""
        self.durations = Histogram()


class Loop:
    """Reconciles the objects whose names are in one work queue, with several workers."""

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
        """Run the workers for the duration of the `async with` block."""
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
        """Reconcile the object with one name; requeue the name with back-off on failure."""
        began = time.monotonic()
        entered = CURRENT_RECONCILE.set(Reconciled(self.title, name))
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
                requeue = self.queue.postpone if result.postpone else self.queue.add_after
                requeue(name, result.after)
        finally:
            CURRENT_RECONCILE.reset(entered)
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
            _log.info(
                "reporting the failure of %s %s in its status failed: %s; trying again after its next failure",
                self.title,
                name,
                failure,
            )


def is_race(error: Exception) -> bool:
    """Return True if the error is due to a concurrent write or deletion, so that the next reconcile resolves it."""
    if not isinstance(error, StatusError) or isinstance(error, NotFoundError):
        return False
    return error.code == 404 or (error.code == 409 and error.reason in ("Conflict", "AlreadyExists"))
