"""
Background jobs in threads, identified by key: a few run at a time, and callers poll their progress.

An unexpected exception fails the job and its supervised task, which restarts the job until the caller stops it.
"""

import asyncio
import contextlib
import errno
from collections.abc import Callable
from threading import Event, Thread
from typing import Final

from virtshape.controllers.storage.protocol import JobStatus, Wake
from virtshape.launcher.images.errors import ImageError, RefusedImageError
from virtshape.launcher.images.progress import Progress, until
from virtshape.supervise.failures import describe_error
from virtshape.supervise.supervisor import SupervisedTask, Supervisor
from virtshape.supervise.tasks import STORAGE_JOBS

MAX_AT_ONCE: Final = 4
QUICK_SECONDS: Final = 0.05
STOP_SECONDS: Final = 2.0

Task = Callable[[Progress], int]
"""A function that runs a job, reports its progress, and returns the size of the result."""


class Job:
    """One job; `purpose` distinguishes jobs with the same key."""

    def __init__(self, purpose: str, attempt: int, reads: str, writes: str) -> None:
        self.purpose = purpose
        self.attempt = attempt
        self.reads = reads
        self.writes = writes
        self.work = JobStatus(state="waiting")
        self.stop = Event()
        self.running: SupervisedTask | None = None

    def report(self, done: int, total: int | None) -> None:
        """Record the progress."""
        self.work = JobStatus(state="running", progress=100.0 * done / total if total else None)

    def do(self, task: Task) -> None:
        """Run the task and record its outcome; raise unexpected exceptions."""
        if self.stop.is_set():
            return
        self.work = JobStatus(state="running")
        try:
            size = task(until(self.stop, self.report))
        except RefusedImageError as error:
            self.work = JobStatus(state="failed", message=str(error), final=True)
        except ImageError as error:
            self.work = JobStatus(state="failed", message=str(error), final=False)
        except OSError as error:
            self.work = JobStatus(state="failed", message=_describe(error))
        else:
            self.work = JobStatus(state="done", progress=100.0, size=size)


class Jobs:
    """All jobs, of which at most `most_at_once` run at a time."""

    def __init__(self, supervisor: Supervisor, most_at_once: int = MAX_AT_ONCE) -> None:
        self._supervisor = supervisor
        self._slots = asyncio.Semaphore(most_at_once)
        self._jobs: dict[str, Job] = {}

    def find(self, key: str, purpose: str, attempt: int) -> Job | None:
        """Return the job of a key; None if the job has another purpose or belongs to an earlier attempt."""
        job = self._jobs.get(key)
        return job if job is not None and job.purpose == purpose and job.attempt >= attempt else None

    async def begin(
        self,
        key: str,
        purpose: str,
        attempt: int,
        task: Task,
        wake: Wake,
        *,
        title: str,
        reads: str = "",
        writes: str = "",
    ) -> JobStatus:
        """
        Stop the previous job of this key, start a new one, and return its status after a short wait.

        `title` is the object or image that the job is for, and appears in logs and health checks.
        """
        await self.end(key)
        job = self._jobs[key] = Job(purpose, attempt, reads, writes)
        job.running = self._supervisor.start(
            STORAGE_JOBS, lambda: self._run(job, task, wake), item=f"{purpose} {title}", finishes=True
        )
        job.running.task.add_done_callback(lambda _: wake())
        await job.running.wait_for_first_attempt(QUICK_SECONDS)
        return job.work

    async def _run(self, job: Job, task: Task, wake: Wake) -> None:
        async with self._slots:
            if job.stop.is_set():
                return
            try:
                await run_in_thread(lambda: job.do(task))
            except Exception as error:
                job.work = JobStatus(state="failed", message=describe_error(error))
                wake()
                raise

    async def end(self, *keys: str) -> None:
        """Stop jobs and wait for them, up to a timeout; a job that does not respond in time stops later."""
        jobs = [job for key in keys if (job := self._jobs.pop(key, None)) is not None]
        for job in jobs:
            job.stop.set()
            if job.running is not None and job.work.state != "running":  # the job is queued or being restarted
                job.running.task.cancel()
        running = [job.running.task for job in jobs if job.running is not None]
        if running:
            await asyncio.wait(running, timeout=STOP_SECONDS)

    async def end_of(self, volume: str) -> None:
        """Stop all jobs that read or write a volume."""
        await self.end(*(key for key, job in self._jobs.items() if volume in (job.reads, job.writes)))

    def is_reading(self, volume: str) -> bool:
        """Return True if an unfinished job reads a volume."""
        return any(job.reads == volume and job.work.state in ("waiting", "running") for job in self._jobs.values())

    async def close(self) -> None:
        """Stop all jobs."""
        await self.end(*self._jobs)


def run_in_thread(action: Callable[[], None]) -> "asyncio.Future[None]":
    """Run a function in a daemon thread, which does not prevent the process from exiting; return a future."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def finish(error: Exception | None) -> None:
        if ended.done():
            return
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    def run() -> None:
        failure: Exception | None = None
        try:
            action()
        except StopIteration as error:  # a future cannot raise StopIteration
            failure = RuntimeError("StopIteration")
            failure.__cause__ = error
        except Exception as error:  # noqa: BLE001 - raised where the future is awaited
            failure = error
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(finish, failure)

    Thread(target=run, name="storage", daemon=True).start()
    return ended


def _describe(error: OSError) -> str:
    text = (
        "the file system does not support files of the volume's size" if error.errno == errno.EFBIG else error.strerror
    )
    return (f"{text}: {error.filename}" if error.filename else text) if text else str(error)
