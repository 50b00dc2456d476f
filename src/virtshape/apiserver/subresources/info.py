"""Documents of the subresource API: version and health."""

from importlib.metadata import version
from typing import Final

import msgspec

from virtshape.apiserver.discovery.version import describe_build
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.responses import NO_CACHE
from virtshape.apiserver.subresources.route import PREFIX
from virtshape.apiserver.supportedverbs import ACTION_VERSIONS

_HEALTHY: Final = msgspec.json.encode({"apiserver": {"connectivity": "ok"}})


def find_info_response(request: Request) -> Response | None:
    """Return the version or health document at the requested path, or None if the path has no document."""
    parts = request.path.removeprefix(PREFIX).split("/")
    if request.method not in ("GET", "HEAD") or len(parts) != 2 or parts[0] not in ACTION_VERSIONS:
        return None
    match parts[1]:
        case "version":
            return Response(200, write_version(), headers=NO_CACHE)
        case "healthz":
            return Response(200, _HEALTHY, headers=NO_CACHE)
        case _:
            return None


def write_version() -> bytes:
    """Return the document that `virtctl version` shows."""
    return msgspec.json.encode(describe_build(f"v{version('virtshape')}"))
