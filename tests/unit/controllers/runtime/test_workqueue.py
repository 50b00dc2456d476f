"""The work queue: deduplication, one worker per key, delays and back-off."""

import asyncio

import pytest

from virtshape.controllers.runtime.workqueue import WorkQueue


async def test_work_queue_key_added_twice_is_processed_once() -> None:
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


async def test_work_queue_key_added_during_processing_is_processed_again() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.get(), 0.01)
    queue.done("a")
    assert await queue.get() == "a"


async def test_added_work_queue_key_wakes_a_waiting_worker() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    assert await waiting == "a"


async def test_delayed_work_queue_key_is_due_at_its_earliest_time() -> None:
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


async def test_postponed_work_queue_key_ignores_earlier_times() -> None:
    queue: WorkQueue[str] = WorkQueue()
    loop = asyncio.get_running_loop()
    for seconds in (0, 0.001):
        queue.add("a")
        assert await queue.get() == "a"
        queue.add_after("a", seconds)
        began = loop.time()
        queue.postpone("a", 0.05)
        queue.done("a")
        assert await queue.get() == "a"
        assert loop.time() - began > 0.045
        queue.done("a")
    assert len(queue) == 0
    queue.close()


async def test_postponed_work_queue_key_becomes_due_earlier_if_it_is_added_again() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    assert await queue.get() == "a"
    queue.postpone("a", 500.0)
    queue.done("a")
    queue.add_after("a", 0.01)
    assert await asyncio.wait_for(queue.get(), 240) == "a"
    queue.close()


async def test_added_work_queue_key_wakes_only_one_waiting_worker() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.add("a")
    done, pending = await asyncio.wait(waiting, timeout=0.01)
    assert [task.result() for task in done] == ["a"]
    assert len(pending) == 2
    for task in pending:
        task.cancel()


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
