"""
Errors of image operations. All errors derive from ImageError, and their messages are shown to users.

Retrying may help after TransferError and NoSpaceError, but not after RefusedImageError.
"""


class ImageError(Exception):
    """An image operation failed."""


class RefusedImageError(ImageError):
    """The image is not acceptable; retrying does not help."""


class TransferError(ImageError):
    """The image could not be transferred; `status` is the HTTP status, if the server responded."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class NoSpaceError(ImageError):
    """There is not enough space for the image."""


class ToolError(ImageError):
    """A required program is missing, failed, or timed out."""


class StoppedError(ImageError):
    """The operation was cancelled on request."""
