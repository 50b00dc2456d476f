"""
The UploadSink: where what clients send is kept until it fills a claim, as the server sees it.

Only words that both sides share.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from virtshape.controllers.storage.protocol import Content


class IncomingUpload(Struct, frozen=True, kw_only=True):
    """What is about to be sent: for which work, what it is, and how large it may be."""

    key: str
    content: Content = "kubevirt"
    size: int | None = None
    """Bytes that the claim has, if there is a claim yet."""
    length: int | None = None
    """Bytes that the client says it sends, if it does."""


class UploadSinkError(Exception):
    """Something that cannot be taken; `is_passing` if it may be taken later."""

    def __init__(self, message: str, *, is_passing: bool = False) -> None:
        super().__init__(message)
        self.is_passing = is_passing


class UploadWriter(Protocol):
    """What is being sent."""

    async def write(self, data: bytes) -> None:
        """Keep the next piece; UploadSinkError if there is no room for it."""


class UploadSink(Protocol):
    """Keeps what is sent."""

    def receive(
        self, upload: IncomingUpload, is_wanted: Callable[[], bool]
    ) -> AbstractAsyncContextManager[UploadWriter]:
        """
        Take something in for as long as the block lasts.

        When the block ends well and it is still wanted, it is judged and handed over whole, otherwise it is thrown
        away; UploadSinkError if something is on its way for the same work already, or if it cannot be used.
        """
