"""
Where the server of a data directory is, and with which secrets its admin asks.

Only reads the kubeconfig that a server leaves behind.
"""

from pathlib import Path

from virtshape.client.access import Access
from virtshape.client.kubeconfig import find_access


class UnknownSystemError(Exception):
    """A directory that no system ever ran in."""


def read_access(directory: Path) -> Access:
    """The server of a directory as its admin sees it."""
    kubeconfig = directory / "kubeconfig"
    if not kubeconfig.exists():
        raise UnknownSystemError(f"there is no system in {directory}")
    return find_access(path=str(kubeconfig))
