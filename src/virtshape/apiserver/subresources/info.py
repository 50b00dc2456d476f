"""Documents of the subresource API: version and health."""

import platform
import sys
from importlib.metadata import version
from typing import Final

import msgspec

from virtshape.api.architecture import format_platform
from virtshape.apiserver.capability import ACTION_VERSIONS
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.responses import NO_CACHE
from virtshape.apiserver.subresources.route import PREFIX

_HEALTHY: Final = msgspec.json.encode({"apiserver": {"connectivity": "ok"}})


def find_info_response(request: Request) -> Response | None:
    """Return the version or health document at the requested path, or None."""
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
    return msgspec.json.encode(
        {
            "gitVersion": f"v{version('virtshape')}",
            "gitCommit": "",
            "gitTreeState": "",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": f"python{platform.python_version()}",
            "compiler": sys.implementation.name,
            "platform": format_platform(),
        }
    )
