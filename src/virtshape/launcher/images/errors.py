"""
What can go wrong with an image, in words for whoever asked for it.

    ImageError
    ├── RefusedImageError   the image is not acceptable; trying again does not help
    ├── TransferError       it could not be brought here; trying again may help
    ├── NoSpaceError        there is no room for it now; trying again may help
    ├── ToolError           a program that is needed is missing, failed or took too long
    └── StoppedError        whoever asked has changed their mind
"""


class ImageError(Exception):
    """An image that cannot be had."""


class RefusedImageError(ImageError):
    """An image that is here, and must not be used."""


class TransferError(ImageError):
    """An image that did not arrive; `status` is what an HTTP server answered, if one did."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class NoSpaceError(ImageError):
    """An image that there is no room for now."""


class ToolError(ImageError):
    """A program that did not do its part."""


class StoppedError(ImageError):
    """Work that was given up on request."""
