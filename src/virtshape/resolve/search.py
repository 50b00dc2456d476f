"""
Searches: generators that decide which object is needed next, while the caller reads the objects.

A search yields references, receives the object (or None) for each reference, and returns its result. The objects can be
in memory or requested from a server.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

from virtshape.api.model import Model
from virtshape.resolve.reference import Reference

T = TypeVar("T")
Query = TypeVar("Query")

Search = Generator[Reference, Model | None, T]


def run_search(search: Generator[Query, Any, T], lookup: Callable[[Query], Any]) -> T:
    """Run a search, using `lookup` to find each object, and return the result of the search."""
    answer = None
    while True:
        try:
            query = search.send(answer)
        except StopIteration as finished:
            result: T = finished.value
            return result
        answer = lookup(query)


async def fetch_search(search: Generator[Query, Any, T], read: Callable[[Query], Awaitable[Any]]) -> T:
    """Run a search, using `read` to request each object, and return the result of the search."""
    answer = None
    while True:
        try:
            query = search.send(answer)
        except StopIteration as finished:
            result: T = finished.value
            return result
        answer = await read(query)
