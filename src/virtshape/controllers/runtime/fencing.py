"""
A client that rejects writes once its process may have lost leadership.

Protects against processes that were suspended and resume with an expired lease. Reads are not affected.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client

_WRITERS: Final = frozenset({"create", "update", "update_status", "patch", "delete"})


class FencedClient:
    """Forwards all calls; writes only while `may_write` returns True."""

    def __init__(self, client: Client, may_write: Callable[[], bool]) -> None:
        self._client = client
        self._may_write = may_write

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return self._guard(method) if name in _WRITERS else method

    def _guard(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def write(*given: Any, **named: Any) -> Any:
            if not self._may_write():
                raise UnreachableError("write rejected: this process no longer holds the leader lease")
            return await method(*given, **named)

        return write
