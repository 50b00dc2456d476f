"""
The version document and the list of paths.

Clients compare the Kubernetes version with their own and derive the supported features from it.
"""

import platform
import sys
from collections.abc import Iterable
from importlib.metadata import version

from virtshape.api.architecture import format_platform
from virtshape.apiserver.discovery.document import Document, make_json_document

_MAJOR = "1"
_MINOR = 37


def write_version() -> Document:
    """Return the document at `/version`."""
    return make_json_document(
        {
            "major": _MAJOR,
            "minor": str(_MINOR),
            "emulationMajor": _MAJOR,
            "emulationMinor": str(_MINOR),
            "minCompatibilityMajor": _MAJOR,
            "minCompatibilityMinor": str(_MINOR - 1),
            **describe_build(f"v{_MAJOR}.{_MINOR}.0+virtshape-{version('virtshape')}"),
        }
    )


def describe_build(git_version: str) -> dict[str, str]:
    """Return the fields about the running program that the version documents of Kubernetes and KubeVirt share."""
    return {
        "gitVersion": git_version,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": format_platform(),
    }


def write_root(paths: Iterable[str]) -> Document:
    """Return the document at `/`, with all paths."""
    return make_json_document({"paths": sorted(paths)})
