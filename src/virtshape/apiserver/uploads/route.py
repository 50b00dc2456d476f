"""Paths of uploads, as in CDI's upload proxy."""

from typing import Final

from msgspec import Struct

_VERSIONS: Final = ("v1beta1", "v1alpha1")


class UploadRoute(Struct, frozen=True):
    """How a client uploads the file, and when the server responds."""

    is_form: bool = False
    """Whether the file is a field of a form."""
    waits: bool = True
    """Whether the response is sent when the claim is filled, instead of when all bytes are received."""


_ENDINGS: Final = {
    "upload": UploadRoute(),
    "upload-async": UploadRoute(waits=False),
    "upload-archive": UploadRoute(),
    "upload-form": UploadRoute(is_form=True),
    "upload-form-async": UploadRoute(is_form=True, waits=False),
}
_ROUTES: Final = {f"/{version}/{ending}": route for version in _VERSIONS for ending, route in _ENDINGS.items()}


def find_upload(path: str) -> UploadRoute | None:
    """Return the upload route of a path, or None."""
    return _ROUTES.get(path)


def is_upload(method: str, target: str) -> bool:
    """Return True if a request is an upload, whose body is read while it is received."""
    return method == "POST" and target.partition("?")[0] in _ROUTES
