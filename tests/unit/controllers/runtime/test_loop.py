"""The control loop: reconciling, retries and reports of failures."""

import asyncio
import logging

import pytest

from virtshape.api.status import StatusError
from virtshape.client.errors import UnreachableError
from virtshape.controllers.runtime.loop import DONE, Loop, Name, Result, is_race
from virtshape.resolve.reference import NotFoundError, Reference
from virtshape.supervise.supervisor import Supervisor

NAME = Name("ns", "vm")
MISSING = NotFoundError(Reference("", "PersistentVolumeClaim", "ns", "a"), "spec")


def test_name_is_formatted_as_namespace_and_name() -> None:
    assert (str(NAME), str(Name("", "node"))) == ("ns/vm", "node")


async def test_object_is_not_reconciled_concurrently() -> None:
    busy: set[Name] = set()
    calls = 0
    loop: Loop

    async def reconcile(name: Name) -> Result:
        nonlocal calls
        assert name not in busy
        busy.add(name)
        calls += 1
        if calls < 20:
            loop.queue.add(name)
        await asyncio.sleep(0)
        busy.discard(name)
        return DONE

    loop = Loop("test", reconcile)
    loop.queue.add(NAME)
    async with loop.running(Supervisor()):
        while calls < 20:
            await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        (StatusError(422, "Invalid", "no"), True),
        (UnreachableError("gone"), True),
        (ValueError("bug"), True),
        (MISSING, True),
        (StatusError(409, "Conflict", "stale"), False),
        (StatusError(409, "AlreadyExists", "there"), False),
        (StatusError(404, "NotFound", "gone meanwhile"), False),
    ],
    ids=["refused", "unreachable", "bug", "missing", "conflict", "already exists", "gone"],
)
async def test_failed_reconcile_is_retried_and_reported_unless_a_concurrent_write_caused_it(
    error: Exception, reported: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    failures = [error, error]
    reports = []
    done = asyncio.Event()

    async def reconcile(name: Name) -> Result:
        del name
        if failures:
            raise failures.pop()
        done.set()
        return DONE

    async def report(name: Name, failure: Exception) -> None:
        reports.append((name, failure))
        raise StatusError(500, "InternalError", "cannot be reported")

    loop = Loop("test", reconcile, report=report)
    loop.queue.add(NAME)
    async with loop.running(Supervisor()):
        await done.wait()
    assert reports == ([(NAME, error)] * 2 if reported else [])
    assert bool(caplog.records) is reported
    assert is_race(error) is not reported


async def test_traceback_of_a_repeated_failure_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    done, calls = asyncio.Event(), 0

    async def reconcile(name: Name) -> Result:
        nonlocal calls
        calls += 1
        if calls < 4:
            raise RuntimeError(f"{name} is broken")
        done.set()
        return DONE

    loop = Loop("test", reconcile)
    loop.queue.add(NAME)
    async with loop.running(Supervisor()):
        await done.wait()
    assert [bool(record.exc_info) for record in caplog.records] == [True, False, False]


async def test_reconciler_can_requeue_an_object() -> None:
    calls = 0
    done = asyncio.Event()

    async def reconcile(name: Name) -> Result:
        nonlocal calls
        del name
        calls += 1
        if calls == 3:
            done.set()
            return DONE
        return Result(after=0.001)

    loop = Loop("test", reconcile)
    loop.queue.add(NAME)
    async with loop.running(Supervisor()):
        await done.wait()
    assert calls == 3
