"""Address and admin credentials of a data directory's server, read from its kubeconfig."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from virtshape.client.access import Access

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 6443
"""Port on which `virtshape up` serves the API by default."""


class UnknownSystemError(Exception):
    """The directory is not a data directory."""


def read_access(directory: Path) -> "Access":
    """Return the address and credentials in a data directory's kubeconfig."""
    # Imported here to keep `virtshape up --help` fast.
    from virtshape.client.kubeconfig import get_access

    kubeconfig = directory / "kubeconfig"
    if not kubeconfig.exists():
        raise UnknownSystemError(f"{directory} is not a data directory of virtshape")
    return get_access(path=str(kubeconfig))
