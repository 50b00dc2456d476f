"""
Errors for unknown paths, methods and content types of built-in kinds.

Unlike errors for custom resources, these errors do not include the name of the resource.
"""

from functools import cache
from typing import Final

from msgspec.structs import replace

from virtshape.api.kinds import KINDS, is_custom_resource
from virtshape.api.status import Status, StatusDetails, StatusError

_PRODUCED: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")


class RouteError(StatusError):
    """A StatusError whose Status has empty details."""

    @property
    def status(self) -> Status:
        """The Status to send."""
        return replace(super().status, details=StatusDetails())


def unknown_path_error() -> StatusError:
    """Return the 404 error for an unknown path."""
    return RouteError(404, "NotFound", "the server could not find the requested resource")


def unsupported_method_error() -> StatusError:
    """Return the 405 error for an unsupported method."""
    return RouteError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def unsupported_patch_error() -> StatusError:
    """Return the 415 error for an unknown patch type."""
    return RouteError(415, "UnsupportedMediaType", "415: Unsupported Media Type")


def require_produced(accept: str) -> None:
    """Raise StatusError 406 if the client accepts none of the response types; the only wildcard supported is `*/*`."""
    if not accept or accept == _PRODUCED[0]:
        return
    offers = (offer.partition(";")[0].strip() for offer in accept.split(","))
    if not any(offer in ("", "*/*", *_PRODUCED) for offer in offers):
        message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(_PRODUCED)}"
        raise RouteError(406, "NotAcceptable", message)


def is_builtin_path(path: str) -> bool:
    """Return True if a path belongs to an API group of built-in kinds."""
    first, _, rest = path.strip("/").partition("/")
    return bool(rest) and (first == "api" or (first == "apis" and rest.partition("/")[0] in _list_groups()))


@cache
def _list_groups() -> frozenset[str]:
    return frozenset(kind.group for kind in KINDS if not is_custom_resource(kind) and kind.group)
