"""
Batches: waiting work items with the same key are processed together.

While one batch of a key is processed, new items for this key are collected for the next batch. A batch therefore
contains at most as many items as there are workers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

from msgspec import UNSET, Struct, UnsetType

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
R = TypeVar("R")


class _Entry(Struct, Generic[T, R], eq=False):
    item: T
    result: R | UnsetType = UNSET


class _Group(Generic[T, R]):
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting: list[_Entry[T, R]] = []
        self.callers = 0


class Batches(Generic[K, T, R]):
    """Processes one batch per key at a time with `process`, which returns one result per item."""

    def __init__(self, process: Callable[[K, Sequence[T]], Awaitable[Sequence[R]]]) -> None:
        self._process = process
        self._groups: dict[K, _Group[T, R]] = {}

    async def run(self, key: K, item: T) -> R:
        """
        Process the item in a batch with other items of the same key, and return the item's result.

        If a batch fails, only the caller that started it gets the exception. The next caller
        processes the remaining items in another batch.
        """
        group = self._groups.setdefault(key, _Group())
        entry: _Entry[T, R] = _Entry(item)
        group.waiting.append(entry)
        group.callers += 1
        try:
            async with group.lock:
                while isinstance(entry.result, UnsetType):
                    await self._run_batch(key, group)
                return entry.result
        finally:
            if entry in group.waiting:
                group.waiting.remove(entry)
            group.callers -= 1
            if not group.callers:
                del self._groups[key]

    async def _run_batch(self, key: K, group: _Group[T, R]) -> None:
        batch = group.waiting
        group.waiting = []
        try:
            results = await self._process(key, [entry.item for entry in batch])
        except BaseException:
            group.waiting[:0] = batch
            raise
        for entry, result in zip(batch, results, strict=True):
            entry.result = result
