"""Find the server that the user runs with `virtshape up`, for commands that have no kubeconfig."""

import os
from pathlib import Path

from virtshape.cli.datadir import DATA_DIRECTORY_VARIABLE, default_directory
from virtshape.cli.errors import CommandError
from virtshape.store.lock import find_holder

_SELECT_SERVER = "Run `virtshape up` in another terminal, or select a server with --kubeconfig or $KUBECONFIG."


class NoServerError(CommandError):
    """No server is configured, and the user's own server is not running."""


def find_local_kubeconfig() -> Path:
    """Return the kubeconfig of the user's own server; raise NoServerError if it is not running."""
    directory = Path(os.environ.get(DATA_DIRECTORY_VARIABLE) or default_directory()).absolute()
    kubeconfig = directory / "kubeconfig"
    if find_holder(directory) is None or not kubeconfig.exists():
        causes = ["neither $KUBECONFIG nor ~/.kube/config exists", f"no server is running in {directory}"]
        raise NoServerError("no server is configured", causes, _SELECT_SERVER)
    return kubeconfig
