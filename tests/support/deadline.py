"""
Time limits for async tests, so that a test that hangs fails with a traceback.

A pytest plugin that the conftest at the root loads.
"""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

UNIT_SECONDS: Final = 60.0
OTHER_SECONDS: Final = 240.0
"""Tests outside tests/unit start servers and guests, which takes long on a loaded machine."""


@pytest.hookimpl(tryfirst=True)  # before pytest-asyncio runs the coroutine
def pytest_runtest_call(item: pytest.Item) -> None:
    """Limit the time of an async test."""
    if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
        item.obj = limit(item.obj, get_limit(item.nodeid))


def get_limit(nodeid: str) -> float:
    """Return the time limit of a test in seconds."""
    return UNIT_SECONDS if nodeid.startswith("tests/unit/") else OTHER_SECONDS


def limit(test: Callable[..., Awaitable[None]], seconds: float) -> Callable[..., Awaitable[None]]:
    """Wrap a test function so that it fails after a time limit."""

    @functools.wraps(test)
    async def limited(*arguments: object, **fixtures: object) -> None:
        async with asyncio.timeout(seconds):
            await test(*arguments, **fixtures)

    return limited
