"""Batches: items with the same key are processed together; a failed batch raises an error for only one caller."""

import asyncio
from collections.abc import Sequence

import pytest

from virtshape.controllers.runtime.batch import Batches


class Processor:
    """Records each batch, then waits until `proceed` is set."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[int]]] = []
        self.proceed = asyncio.Event()
        self.failures: list[BaseException] = []

    async def process(self, key: str, items: Sequence[int]) -> list[int]:
        self.batches.append((key, list(items)))
        await self.proceed.wait()
        if self.failures:
            raise self.failures.pop()
        return [item * 10 for item in items]


async def start(batches: Batches[str, int, int], *items: int, key: str = "a") -> list[asyncio.Task[int]]:
    tasks = [asyncio.ensure_future(batches.run(key, item)) for item in items]
    await asyncio.sleep(0)
    return tasks


async def test_items_added_during_a_batch_are_processed_in_the_next_one() -> None:
    processor = Processor()
    batches = Batches(processor.process)
    first = await start(batches, 1)
    rest = await start(batches, 2, 3, 4)
    processor.proceed.set()
    assert await asyncio.gather(*first, *rest) == [10, 20, 30, 40]
    assert processor.batches == [("a", [1]), ("a", [2, 3, 4])]


async def test_batches_of_different_keys_do_not_wait_for_each_other() -> None:
    processor = Processor()
    batches = Batches(processor.process)
    tasks = [*await start(batches, 1), *await start(batches, 2, key="b")]
    assert processor.batches == [("a", [1]), ("b", [2])]
    processor.proceed.set()
    assert await asyncio.gather(*tasks) == [10, 20]


async def test_failed_batch_raises_for_its_first_caller_and_is_retried_for_the_others() -> None:
    processor = Processor()
    processor.failures.append(ValueError("refused"))
    batches = Batches(processor.process)
    (first,) = await start(batches, 1)
    second, third = await start(batches, 2, 3)
    processor.failures.insert(0, ValueError("refused again"))
    processor.proceed.set()
    with pytest.raises(ValueError, match=r"refused$"):
        await first
    with pytest.raises(ValueError, match="refused again"):
        await second
    assert await third == 30
    assert processor.batches == [("a", [1]), ("a", [2, 3]), ("a", [3])]


async def test_item_of_a_cancelled_caller_is_not_processed() -> None:
    processor = Processor()
    batches = Batches(processor.process)
    (first,) = await start(batches, 1)
    second, third = await start(batches, 2, 3)
    second.cancel()
    await asyncio.sleep(0)
    processor.proceed.set()
    assert [await first, await third] == [10, 30]
    assert processor.batches == [("a", [1]), ("a", [3])]
