"""UploadSink: the protocol for storing uploaded bytes until they fill a claim."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from virtshape.api.cdi import Content


class IncomingUpload(Struct, frozen=True, kw_only=True):
    """The properties of an upload before it starts."""

    key: str
    content: Content = "kubevirt"
    size: int | None = None
    """Capacity of the claim in bytes, if it exists."""
    length: int | None = None
    """The Content-Length, if the client sent one."""


class UploadSinkError(Exception):
    """An upload that cannot be accepted; `is_temporary` if the client may retry later."""

    def __init__(self, message: str, *, is_temporary: bool = False) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary


class UploadWriter(Protocol):
    """Writes one upload."""

    async def write(self, data: bytes) -> None:
        """Store the next chunk; raise UploadSinkError if there is no room."""


class UploadSink(Protocol):
    """Stores uploads."""

    def receive(
        self, upload: IncomingUpload, is_wanted: Callable[[], bool]
    ) -> AbstractAsyncContextManager[UploadWriter]:
        """
        Store an upload for as long as the block lasts.

        If the block succeeds and `is_wanted` is still true, the upload is inspected and handed over; otherwise it is
        deleted. Raise UploadSinkError if an upload for the same key is in progress, or if the data cannot be used.
        """
