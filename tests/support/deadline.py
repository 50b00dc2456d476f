"""
Time limits for async tests, so that a test that hangs fails with a traceback.

The root conftest loads this module as a pytest plugin.
"""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Final

import pytest
from tests.support.longruns import IS_LONG

UNIT_SECONDS: Final = 240.0
OTHER_SECONDS: Final = 1800.0
"""The limit for tests outside tests/unit, which start servers and guests and are slow on a loaded machine."""
LONG_SECONDS: Final = 6 * 3600.0
"""The limit for the long versions of tests/robustness."""


@pytest.hookimpl(tryfirst=True)  # runs before pytest-asyncio awaits the test
def pytest_runtest_call(item: pytest.Item) -> None:
    """Limit the time of an async test."""
    if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
        item.obj = limit(item.obj, get_limit(item.nodeid))


def get_limit(nodeid: str) -> float:
    """Return the time limit of a test in seconds."""
    if IS_LONG and nodeid.startswith("tests/robustness/"):
        return LONG_SECONDS
    return UNIT_SECONDS if nodeid.startswith("tests/unit/") else OTHER_SECONDS


def limit(test: Callable[..., Awaitable[None]], seconds: float) -> Callable[..., Awaitable[None]]:
    """Wrap a test function so that it fails after a time limit."""

    @functools.wraps(test)
    async def limited(*arguments: object, **fixtures: object) -> None:
        async with asyncio.timeout(seconds):
            await test(*arguments, **fixtures)

    return limited
