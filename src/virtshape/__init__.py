"""
KubeVirt's instance types and preferences: expand, validate and run virtual machines.

The library's entry point is Expander, which raises StatusError for invalid objects.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from virtshape.api.status import StatusError
    from virtshape.offline.expander import Expander

__all__ = ["Expander", "StatusError"]

_HOMES = {"Expander": "virtshape.offline.expander", "StatusError": "virtshape.api.status"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that commands that do not use the library start faster."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
