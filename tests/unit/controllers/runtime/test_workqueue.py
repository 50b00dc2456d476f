"""The work queue: deduplication, one worker per key, delays and back-off."""

import asyncio

import pytest

from virtshape.controllers.runtime.workqueue import WorkQueue


async def test_key_added_twice_is_processed_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in "aba":
        queue.add(key)
    assert len(queue) == 2
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    queue.done("a")
    queue.done("b")
    assert len(queue) == 0
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.get(), 0.01)


async def test_key_added_during_processing_is_queued_after_done() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.get(), 0.01)
    queue.done("a")
    assert await queue.get() == "a"


async def test_added_key_wakes_a_waiting_worker() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    assert await waiting == "a"


async def test_delayed_key_is_due_at_its_earliest_time() -> None:
    queue: WorkQueue[str] = WorkQueue()
    loop = asyncio.get_running_loop()
    began = loop.time()
    queue.add_after("late", 0.05)
    queue.add_after("early", 500.0)
    queue.add_after("early", 0.01)
    queue.add_after("early", 300.0)
    queue.add_after("now", 0)
    assert [await queue.get() for _ in range(3)] == ["now", "early", "late"]
    assert 0.045 < loop.time() - began < 200
    queue.close()


async def test_retry_delay_grows_until_the_key_is_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waits = [queue.retry("a") for _ in range(4)]
    assert waits == [0.005, 0.01, 0.02, 0.04]
    for _ in range(40):
        longest = queue.retry("a")
    assert longest == 60.0
    queue.forget("a")
    assert queue.retry("a") == 0.005
    queue.close()
