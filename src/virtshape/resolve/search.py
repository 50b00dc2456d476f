"""
Searches: generators that decide which object to read next, without reading it.

A search yields references, is sent each object or None, and returns its result. The same search runs on objects in
memory and on objects that are requested from a server.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

from virtshape.api.model import Model
from virtshape.resolve.reference import Reference

T = TypeVar("T")
Query = TypeVar("Query")

Search = Generator[Reference, Model | None, T]


def run_search(search: Generator[Query, Any, T], lookup: Callable[[Query], Any]) -> T:
    """Return the result of a search, with a lookup of objects in memory."""
    answer = None
    while True:
        try:
            query = search.send(answer)
        except StopIteration as finished:
            result: T = finished.value
            return result
        answer = lookup(query)


async def fetch_search(search: Generator[Query, Any, T], read: Callable[[Query], Awaitable[Any]]) -> T:
    """Return the result of a search, with objects that `read` requests one by one."""
    answer = None
    while True:
        try:
            query = search.send(answer)
        except StopIteration as finished:
            result: T = finished.value
            return result
        answer = await read(query)
