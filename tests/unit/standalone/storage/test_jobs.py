"""Background jobs in threads: start, progress, failures, cancellation and concurrency limit."""

import asyncio
import threading
from collections.abc import Callable

import pytest
from tests.support.faults import BACKOFF

from virtshape.controllers.storage.protocol import JobStatus
from virtshape.launcher.images.errors import RefusedImageError, TransferError
from virtshape.launcher.images.progress import Progress
from virtshape.standalone.storage.jobs import Jobs
from virtshape.supervise.checks import Check
from virtshape.supervise.supervisor import Supervisor


def ignore_end() -> None:
    """Ignore the end of a job."""


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the time limit of quick jobs, so that tests also pass on a slow machine."""
    monkeypatch.setattr("virtshape.standalone.storage.jobs.QUICK_SECONDS", 60.0)


@pytest.mark.usefixtures("_patient")
async def test_short_job_finishes_before_begin_returns_and_wakes_the_caller() -> None:
    jobs, woken = Jobs(Supervisor()), asyncio.Event()
    work = await jobs.begin("a", "fill", 0, lambda _: 7, woken.set, title="default/disk")
    assert work == JobStatus(state="done", progress=100.0, size=7)
    await woken.wait()
    found = jobs.find("a", "fill", 0)
    assert found is not None
    assert found.work is work
    assert jobs.find("a", "fill", 1) is None
    assert jobs.find("a", "measure", 0) is None
    assert jobs.find("b", "fill", 0) is None


@pytest.mark.usefixtures("_patient")
@pytest.mark.parametrize(
    ("error", "work"),
    [
        (RefusedImageError("bad"), JobStatus(state="failed", message="bad", final=True)),
        (TransferError("gone"), JobStatus(state="failed", message="gone")),
        (
            OSError(28, "No space left on device", "/a"),
            JobStatus(state="failed", message="No space left on device: /a"),
        ),
    ],
    ids=["refused", "transfer failed", "no space"],
)
async def test_storage_job_failure_is_reported(error: Exception, work: JobStatus) -> None:
    def fail(_: Progress) -> int:
        raise error

    assert await Jobs(Supervisor()).begin("a", "fill", 0, fail, ignore_end, title="default/disk") == work


@pytest.mark.usefixtures("_patient")
async def test_unexpected_failure_is_reported_to_the_caller_and_the_supervisor(
    caplog: pytest.LogCaptureFixture,
) -> None:
    supervisor, woken = Supervisor(BACKOFF), asyncio.Event()
    jobs = Jobs(supervisor)
    repaired = threading.Event()

    def fail(_: Progress) -> int:
        if not repaired.is_set():
            raise ValueError("a bug")
        return 7

    work = await jobs.begin("a", "fill", 0, fail, woken.set, title="default/disk")
    assert work == JobStatus(state="failed", message="ValueError: a bug")
    assert woken.is_set()
    failing = Check("fill default/disk: ValueError: a bug", required=False)
    assert supervisor.list_checks() == {"storage-jobs": failing}
    assert "background task storage-jobs/fill default/disk failed: ValueError: a bug; restarting in" in caplog.text
    assert [record for record in caplog.records if record.exc_info]

    await jobs.end("a")  # controllers end a failed job before they retry
    assert supervisor.list_checks() == {"storage-jobs": failing}
    repaired.set()
    work = await jobs.begin("a", "fill", 1, fail, woken.set, title="default/disk")
    assert work == JobStatus(state="done", progress=100.0, size=7)
    assert supervisor.list_checks() == {"storage-jobs": Check(required=False)}


@pytest.mark.usefixtures("_patient")
async def test_job_that_raises_stop_iteration_fails_as_with_other_exceptions() -> None:
    def fail(_: Progress) -> int:
        return next(iter([]))

    jobs = Jobs(Supervisor(BACKOFF))
    work = await jobs.begin("a", "fill", 0, fail, ignore_end, title="default/disk")
    assert work == JobStatus(state="failed", message="RuntimeError: StopIteration")
    await jobs.close()


@pytest.mark.usefixtures("_patient")
async def test_supervisor_retries_an_unexpectedly_failed_job_unless_it_was_ended() -> None:
    jobs, runs = Jobs(Supervisor(BACKOFF)), 0

    def fail_once(_: Progress) -> int:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise ValueError("a bug")
        return 7

    done = asyncio.Event()
    assert (await jobs.begin("a", "fill", 0, fail_once, ignore_end, title="default/disk")).state == "failed"
    job = jobs.find("a", "fill", 0)
    assert job is not None
    assert job.running is not None
    job.running.task.add_done_callback(lambda _: done.set())
    await done.wait()
    assert (job.work.state, runs) == ("done", 2)

    runs = 0
    assert (await jobs.begin("b", "fill", 0, fail_once, ignore_end, title="default/other")).state == "failed"
    await jobs.end("b")
    await asyncio.sleep(2 * BACKOFF.first)
    assert runs == 1


def hold(gate: threading.Event) -> Callable[[Progress], int]:
    def work(progress: Progress) -> int:
        while not gate.wait(0.01):
            progress(1, 4)
        return 1

    return work


async def test_storage_job_reports_progress_and_can_be_stopped() -> None:
    jobs, gate = Jobs(Supervisor()), threading.Event()
    await jobs.begin("a", "fill", 0, hold(gate), ignore_end, title="default/disk", reads="v1")
    job = jobs.find("a", "fill", 0)
    assert job is not None
    while job.work != JobStatus(state="running", progress=25.0):
        await asyncio.sleep(0.01)
    assert jobs.is_reading("v1")
    assert not jobs.is_reading("v2")
    await jobs.end_of("v1")
    assert jobs.find("a", "fill", 0) is None
    assert not jobs.is_reading("v1")


async def test_number_of_concurrent_storage_jobs_is_limited() -> None:
    jobs, gate = Jobs(Supervisor(), most_at_once=1), threading.Event()
    await jobs.begin("a", "fill", 0, hold(gate), ignore_end, title="default/disk")
    done = asyncio.Event()
    assert await jobs.begin("b", "fill", 0, lambda _: 2, done.set, title="default/disk") == JobStatus(state="waiting")
    gate.set()
    await done.wait()
    await jobs.close()


async def test_close_does_not_wait_for_a_job_that_does_not_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("virtshape.standalone.storage.jobs.STOP_SECONDS", 0.05)
    gate = threading.Event()

    def deaf(_: Progress) -> int:
        gate.wait()
        return 1

    jobs = Jobs(Supervisor())
    await jobs.begin("a", "fill", 0, deaf, ignore_end, title="default/disk")
    await jobs.close()
    gate.set()
