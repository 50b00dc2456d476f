"""
The paths that uploads are sent to, as CDI's upload proxy has them.

Only reads paths.
"""

from typing import Final

from msgspec import Struct

_VERSIONS: Final = ("v1beta1", "v1alpha1")


class UploadRoute(Struct, frozen=True):
    """How an upload is sent, and when it is answered."""

    is_form: bool = False
    """Whether the file is a field of a form."""
    waits: bool = True
    """Whether the answer comes only when the claim is filled, in place of when all has arrived."""


_ENDINGS: Final = {
    "upload": UploadRoute(),
    "upload-async": UploadRoute(waits=False),
    "upload-archive": UploadRoute(),
    "upload-form": UploadRoute(is_form=True),
    "upload-form-async": UploadRoute(is_form=True, waits=False),
}
_ROUTES: Final = {f"/{version}/{ending}": route for version in _VERSIONS for ending, route in _ENDINGS.items()}


def find_upload(path: str) -> UploadRoute | None:
    """The way of an upload that a path stands for, if it does for one."""
    return _ROUTES.get(path)


def is_upload(method: str, target: str) -> bool:
    """Whether a request brings something so large that it is taken while it comes."""
    return method == "POST" and target.partition("?")[0] in _ROUTES
