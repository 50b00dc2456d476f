"""Failed tasks are restarted; a failure is logged with one traceback and reported until the task has recovered."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from virtshape.supervise.checks import Check
from virtshape.supervise.failures import Backoff, describe_error
from virtshape.supervise.supervisor import ExpectedError, SupervisedTask, Supervisor
from virtshape.supervise.tasks import COMPACTION, INFORMERS, LAUNCHER, STORAGE_JOBS

QUICK = Backoff(first=0.002, longest=0.004, healthy=0.5)


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.001)


class FailingTask:
    """A task that fails a given number of times, then runs until it is cancelled."""

    def __init__(self, times: int, error: Callable[[], BaseException] = lambda: RuntimeError("boom")) -> None:
        self.left = times
        self.runs = 0
        self._error = error

    async def __call__(self) -> None:
        self.runs += 1
        self.left -= 1
        if self.left >= 0:
            raise self._error()
        await asyncio.Event().wait()


def list_tracebacks(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.exc_info]


async def test_failing_task_is_restarted_and_its_health_check_fails_until_it_recovers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = FailingTask(3)

    supervisor = Supervisor(QUICK)
    async with supervisor.running(INFORMERS, work, item="Node"):
        await until(lambda: work.runs == 4)
        assert supervisor.list_checks() == {"informers": Check("Node: RuntimeError: boom")}
        await until(lambda: supervisor.list_checks() == {"informers": Check()})
    assert supervisor.restarts == {"informers": 3}
    assert len(list_tracebacks(caplog)) == 1
    assert (
        sum("background task informers/Node failed: RuntimeError: boom" in one.message for one in caplog.records) == 3
    )


async def test_different_failure_of_the_same_task_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors: list[BaseException] = [ValueError("two"), RuntimeError("one"), RuntimeError("one")]
    work = FailingTask(3, lambda: errors.pop())

    supervisor = Supervisor(QUICK)
    async with supervisor.running(COMPACTION, work):
        await until(lambda: work.runs == 4)
    assert len(list_tracebacks(caplog)) == 2


async def test_expected_failure_is_logged_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    work = FailingTask(1, lambda: ExpectedError("not ready yet"))

    supervisor = Supervisor(QUICK)
    async with supervisor.running(COMPACTION, work):
        await until(lambda: work.runs == 2)
    assert "ExpectedError: not ready yet" in caplog.text
    assert list_tracebacks(caplog) == []


async def test_failure_after_recovery_is_logged_with_a_traceback_again(caplog: pytest.LogCaptureFixture) -> None:
    fail = asyncio.Event()

    async def work() -> None:
        await fail.wait()
        fail.clear()
        raise RuntimeError("boom")

    supervisor = Supervisor(QUICK)
    async with supervisor.running(COMPACTION, work):
        for count in (1, 2):
            fail.set()
            await until(lambda: not supervisor.list_checks()["compaction"].passed)
            await until(lambda: supervisor.list_checks()["compaction"].passed)
            assert len(list_tracebacks(caplog)) == count


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        pytest.param(lambda: asyncio.CancelledError(), "TaskEndedError: cancelled itself", id="cancels itself"),
        pytest.param(lambda: ExceptionGroup("", [KeyError("x")]), "KeyError: 'x'", id="raises a group of one"),
        pytest.param(lambda: RuntimeError(), "RuntimeError", id="raises without a message"),
    ],
)
async def test_task_that_cancels_itself_or_raises_is_restarted(make: Callable[[], BaseException], reason: str) -> None:
    work = FailingTask(1, make)

    supervisor = Supervisor(QUICK)
    async with supervisor.running(COMPACTION, work):
        await until(lambda: work.runs == 2)
        assert supervisor.list_checks()["compaction"] == Check(reason, required=False)


async def test_task_that_returns_is_restarted_unless_it_is_allowed_to_finish() -> None:
    runs: list[str] = []

    async def work() -> None:
        runs.append("run")

    supervisor = Supervisor(QUICK)
    finished = supervisor.start(LAUNCHER, work, finishes=True)
    await finished.task
    assert runs == ["run"]
    assert finished.first_attempt_done.is_set()
    async with supervisor.running(COMPACTION, work):
        await until(lambda: len(runs) == 3)
        assert "returned unexpectedly" in supervisor.list_checks()["compaction"].failure


async def test_failing_task_does_not_affect_other_tasks() -> None:
    steady, failing = FailingTask(0), FailingTask(1000)

    supervisor = Supervisor(QUICK)
    async with supervisor.running(INFORMERS, steady, item="a"), supervisor.running(INFORMERS, failing, item="b"):
        await until(lambda: failing.runs > 5)
        assert steady.runs == 1
        assert supervisor.list_checks()["informers"].failure == "b: RuntimeError: boom"


async def test_supervisor_stops_a_task_that_fails_while_it_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise RuntimeError("cleanup failed")

    supervisor = Supervisor(QUICK)
    async with supervisor.running(COMPACTION, work):
        await asyncio.sleep(0)
    assert "background task compaction failed while stopping" in caplog.text


async def test_observers_are_notified_of_failure_and_recovery() -> None:
    seen: list[str] = []

    def observe(task: SupervisedTask) -> None:
        seen.append(task.failure)

    supervisor = Supervisor(QUICK)
    supervisor.observe(observe)
    async with supervisor.running(COMPACTION, FailingTask(1)):
        await until(lambda: len(seen) == 2)
    assert seen == ["RuntimeError: boom", ""]


def test_backoff_grows_to_its_limit_with_jitter() -> None:
    backoff = Backoff()
    for failures, most in ((1, 1.0), (2, 2.0), (4, 8.0), (100, 60.0), (10_000, 60.0)):
        delays = {backoff.delay(failures) for _ in range(20)}
        assert len(delays) > 1
        assert all(most / 2 <= delay <= most for delay in delays)


def test_error_description_is_one_short_line() -> None:
    assert describe_error(ValueError("a\nb")) == "ValueError: a b"
    assert len(describe_error(ValueError("x" * 10_000))) == 512


async def test_failure_of_a_stopped_job_is_reported_until_the_job_is_repeated_successfully() -> None:
    seen: list[str] = []

    async def work() -> None:
        raise RuntimeError("boom")

    async def succeed() -> None:
        pass

    supervisor = Supervisor(Backoff(first=60.0, longest=60.0))
    supervisor.observe(lambda task: seen.append(task.failure))
    job = supervisor.start(STORAGE_JOBS, work, item="disk", finishes=True)
    await job.first_attempt_done.wait()
    await job.stop()
    assert supervisor.list_checks()["storage-jobs"].failure == "disk: RuntimeError: boom"
    other = supervisor.start(STORAGE_JOBS, succeed, item="other", finishes=True)
    await other.first_attempt_done.wait()
    assert not supervisor.list_checks()["storage-jobs"].passed
    again = supervisor.start(STORAGE_JOBS, succeed, item="disk", finishes=True)
    await again.first_attempt_done.wait()
    assert supervisor.list_checks()["storage-jobs"].passed
    assert seen == ["RuntimeError: boom", ""]


async def test_failure_of_a_stopped_job_is_reported_for_a_limited_time() -> None:
    reports = 0

    def count(_: SupervisedTask) -> None:
        nonlocal reports
        reports += 1

    supervisor = Supervisor(Backoff(first=60.0, longest=0.5))
    supervisor.observe(count)
    job = supervisor.start(STORAGE_JOBS, FailingTask(1), item="disk", finishes=True)
    await job.first_attempt_done.wait()
    await job.stop()
    assert not supervisor.list_checks()["storage-jobs"].passed
    await until(lambda: supervisor.list_checks()["storage-jobs"].passed)
    assert reports == 2


@pytest.mark.parametrize("steps", range(5))
async def test_cancellation_during_the_end_of_the_first_attempt_is_not_lost(steps: int) -> None:
    finish = asyncio.Event()

    async def run() -> None:
        await finish.wait()

    async def wait() -> None:
        await task.wait_for_first_attempt(60)
        await asyncio.Event().wait()

    task = Supervisor(QUICK).start(LAUNCHER, run, finishes=True)
    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0.01)
    finish.set()
    for _ in range(steps):  # let the event loop run the callbacks of the task one by one
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting], timeout=120)
    assert waiting.cancelled()
    await task.stop()
