"""UploadSink: the protocol for storing uploaded bytes until they fill a claim."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from virtshape.api.cdi import Content


class IncomingUpload(Struct, frozen=True, kw_only=True):
    """What is known about an upload before it starts."""

    key: str
    content: Content = "kubevirt"
    size: int | None = None
    """Capacity of the claim in bytes, if it is bound."""
    length: int | None = None
    """The Content-Length, if the client sent one."""


class UploadSinkError(Exception):
    """An upload cannot be accepted; `is_temporary` is True if the client may retry later."""

    def __init__(self, message: str, *, is_temporary: bool = False) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary


class UploadWriter(Protocol):
    """Receives the chunks of one upload."""

    async def write(self, data: bytes) -> None:
        """Store the next chunk; raise UploadSinkError if there is no room."""


class UploadSink(Protocol):
    """Stores uploads until they fill a claim."""

    def receive(
        self, upload: IncomingUpload, is_wanted: Callable[[], bool]
    ) -> AbstractAsyncContextManager[UploadWriter]:
        """
        Return a context manager that stores an upload.

        If its block succeeds and `is_wanted` still returns True, the upload is inspected and used; otherwise the upload
        is deleted. Raise UploadSinkError if an upload for the same key is in progress, or if the data cannot be used.
        """
