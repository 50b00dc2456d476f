"""
Run background tasks: log unexpected exceptions, restart with exponential back-off, and report the state of each task.

A task that fails never ends its siblings or its parent. The traceback of a failure is logged once; repetitions of the
same failure get one line each.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

from virtshape.supervise.checks import Check
from virtshape.supervise.failures import Backoff, describe_error, identify_error
from virtshape.supervise.tasks import TaskKind

_log = logging.getLogger(__name__)

Run = Callable[[], Awaitable[None]]
Observer = Callable[["SupervisedTask"], None]


class TaskEndedError(Exception):
    """A task returned, or cancelled itself, although it should run until it is stopped."""


class SupervisedTask:
    """One background task, restarted until it is stopped or, if it `finishes`, until it has returned once."""

    def __init__(self, supervisor: "Supervisor", kind: TaskKind, item: str, run: Run, *, finishes: bool) -> None:
        self.kind = kind
        self.item = item
        self.failure = ""
        """Last failure; empty after recovery."""
        self.failures = 0
        """Number of failures since the task was last healthy."""
        self.first_attempt_done = asyncio.Event()
        """Set when the task has failed or finished for the first time."""
        self._supervisor = supervisor
        self._run = run
        self.finishes = finishes
        self._recovery: asyncio.TimerHandle | None = None
        self.task = asyncio.create_task(self._supervise(), name=self.name)

    @property
    def name(self) -> str:
        """Name of the task: its kind and item."""
        return f"{self.kind.name}/{self.item}" if self.item else self.kind.name

    async def stop(self) -> None:
        """Cancel the task and wait until it has ended."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def wait_for_first_attempt(self, seconds: float) -> None:
        """Wait until the first attempt has succeeded or failed, for at most this many seconds."""
        # `asyncio.wait_for` of Python 3.11 loses a cancellation that arrives together with the result.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.first_attempt_done.wait()

    def inherit(self, earlier: "SupervisedTask") -> None:
        """Report the failure of an earlier task with this name as this task's own, until this task has recovered."""
        self.failure, self.failures = earlier.failure, earlier.failures
        self._start_recovery()

    async def _supervise(self) -> None:
        try:
            while (error := await self._run_once()) is not None:
                delay = self._note_failure(error)
                await asyncio.sleep(delay)
                self._supervisor.restarts[self.kind.name] += 1
                self._start_recovery()
            self._note_recovery()
            self.first_attempt_done.set()
        finally:
            self._cancel_recovery()
            self._supervisor.remove(self)

    async def _run_once(self) -> Exception | None:
        """Run the task; return the task's exception, or None if the task has finished."""
        try:
            await self._run()
        except asyncio.CancelledError:
            if self._is_stopping():
                raise
            return TaskEndedError("cancelled itself")
        except Exception as error:
            if self._is_stopping():
                _log.exception("background task %s failed while stopping; it is not restarted", self.name)
                raise asyncio.CancelledError from error
            return error
        return None if self.finishes else TaskEndedError("returned unexpectedly")

    def _is_stopping(self) -> bool:
        current = asyncio.current_task()
        return current is not None and current.cancelling() > 0

    def _note_failure(self, error: Exception) -> float:
        """Log and record a failure; return the seconds until the restart."""
        self._cancel_recovery()
        self.failures += 1
        self.failure = describe_error(error)
        delay = self._supervisor.backoff.delay(self.failures)
        is_new = self._supervisor.remember(self.kind, error)
        _log.error(
            "background task %s failed: %s; restarting in %.1f s",
            self.name,
            self.failure,
            delay,
            exc_info=error if is_new and not isinstance(error, ExpectedError) else None,
        )
        self.first_attempt_done.set()
        self._supervisor.report(self)
        return delay

    def _note_recovery(self) -> None:
        if not self.failure:
            return
        _log.info("background task %s recovered", self.name)
        self.failure, self.failures = "", 0
        self._supervisor.report(self)

    def _start_recovery(self) -> None:
        loop = asyncio.get_running_loop()
        self._recovery = loop.call_later(self._supervisor.backoff.healthy, self._note_recovery)

    def _cancel_recovery(self) -> None:
        if self._recovery is not None:
            self._recovery.cancel()
            self._recovery = None


class ExpectedError(Exception):
    """A failure with a known cause, such as a server that is not ready yet, which is logged without a traceback."""


class Supervisor:
    """All background tasks of a process."""

    def __init__(self, backoff: Backoff = Backoff()) -> None:  # noqa: B008 - immutable
        self.backoff = backoff
        self.restarts: Counter[str] = Counter()
        """Number of restarts by kind of task."""
        self._kinds: dict[str, TaskKind] = {}
        self._tasks: list[SupervisedTask] = []
        self._logged: dict[str, set[str]] = {}
        self._observers: list[Observer] = []

    def start(self, kind: TaskKind, run: Run, *, item: str = "", finishes: bool = False) -> SupervisedTask:
        """Start a task, which the caller stops; the task may return only if `finishes` is True."""
        self._kinds.setdefault(kind.name, kind)
        task = SupervisedTask(self, kind, item, run, finishes=finishes)
        for earlier in [one for one in self._tasks if one.name == task.name and one.task.done()]:
            self._tasks.remove(earlier)
            task.inherit(earlier)
        self._tasks.append(task)
        return task

    @contextlib.asynccontextmanager
    async def running(
        self, kind: TaskKind, run: Run, *, item: str = "", finishes: bool = False
    ) -> AsyncIterator[SupervisedTask]:
        """Run a task for the duration of the `async with` block."""
        task = self.start(kind, run, item=item, finishes=finishes)
        try:
            yield task
        finally:
            await task.stop()

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call an observer when a task fails or recovers; return a function that removes the observer."""
        self._observers.append(observer)
        return lambda: self._observers.remove(observer)

    def list_checks(self) -> dict[str, Check]:
        """Return a health check for each kind of task that was started, by the name of the kind."""
        return {name: Check(self._describe(name), kind.required) for name, kind in self._kinds.items()}

    def _describe(self, name: str) -> str:
        failing = [task for task in self._tasks if task.kind.name == name and task.failure]
        return "; ".join(f"{task.item}: {task.failure}" if task.item else task.failure for task in failing)

    def remember(self, kind: TaskKind, error: Exception) -> bool:
        """Record a failure; return True if it is new since all tasks of this kind were last healthy."""
        logged = self._logged.setdefault(kind.name, set())
        signature = identify_error(error)
        is_new = signature not in logged
        logged.add(signature)
        return is_new

    def report(self, task: SupervisedTask) -> None:
        """Notify observers that a task failed or recovered."""
        if not self._describe(task.kind.name):
            self._logged.pop(task.kind.name, None)
        for observer in self._observers:
            try:
                observer(task)
            except Exception:  # noqa: BLE001 - a failing observer must not end the task
                _log.exception(
                    "an observer of background task %s failed; the task and other observers are not affected", task.name
                )

    def remove(self, task: SupervisedTask) -> None:
        """
        Remove an ended task.

        A failed task with `finishes` is removed after a delay, because its owner may start it again.
        """
        if task.failure and task.finishes:
            asyncio.get_running_loop().call_later(self.backoff.longest, self._forget, task)
        else:
            self._tasks.remove(task)

    def _forget(self, task: SupervisedTask) -> None:
        if task in self._tasks:
            self._tasks.remove(task)
            self.report(task)


def log_failure(task: "asyncio.Task[None]") -> None:
    """Log the exception of a short-lived task that nothing awaits; a callback for `add_done_callback`."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("%s failed: %s", task.get_name(), describe_error(error), exc_info=error)
