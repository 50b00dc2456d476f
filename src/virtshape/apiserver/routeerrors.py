"""
Refusals of requests that Kubernetes' own kinds have no handler for: a path, a method or a type that is not theirs.

They say nothing of what was asked for, unlike those of kinds that are defined. Only words.
"""

from functools import cache
from typing import Final

from msgspec.structs import replace

from virtshape.api.kinds import KINDS
from virtshape.api.status import Status, StatusDetails, StatusError
from virtshape.apiserver.capability import is_defined

_PRODUCED: Final = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")


class RouteError(StatusError):
    """A refusal whose details are there, and empty."""

    @property
    def status(self) -> Status:
        """The Status to send."""
        return replace(super().status, details=StatusDetails())


def refuse_path() -> StatusError:
    """There is nothing at such a path."""
    return RouteError(404, "NotFound", "the server could not find the requested resource")


def refuse_method() -> StatusError:
    """What there is cannot be had that way."""
    return RouteError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def refuse_patch_type() -> StatusError:
    """No patch is written like that."""
    return RouteError(415, "UnsupportedMediaType", "415: Unsupported Media Type")


def check_produced(accept: str) -> None:
    """Refuse a client that would take none of the types that there are; patterns are not understood, but for `*/*`."""
    if not accept or accept == _PRODUCED[0]:
        return
    offers = (offer.partition(";")[0].strip() for offer in accept.split(","))
    if not any(offer in ("", "*/*", *_PRODUCED) for offer in offers):
        message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(_PRODUCED)}"
        raise RouteError(406, "NotAcceptable", message)


def is_builtin_path(path: str) -> bool:
    """Whether a path lies where Kubernetes' own kinds are served."""
    first, _, rest = path.strip("/").partition("/")
    return bool(rest) and (first == "api" or (first == "apis" and rest.partition("/")[0] in _list_groups()))


@cache
def _list_groups() -> frozenset[str]:
    return frozenset(kind.group for kind in KINDS if not is_defined(kind) and kind.group)
