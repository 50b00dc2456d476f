"""Address and admin credentials of a data directory's server, read from its kubeconfig."""

from pathlib import Path
from typing import Final

from virtshape.client.access import Access
from virtshape.client.kubeconfig import get_access

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 6443
"""Where `virtshape up` serves the API by default."""


class UnknownSystemError(Exception):
    """The directory is not a data directory."""


def read_access(directory: Path) -> Access:
    """Return the address and credentials in a data directory's kubeconfig."""
    kubeconfig = directory / "kubeconfig"
    if not kubeconfig.exists():
        raise UnknownSystemError(f"no virtshape system in {directory}")
    return get_access(path=str(kubeconfig))
