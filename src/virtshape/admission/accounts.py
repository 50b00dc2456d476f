"""Service accounts of virtshape's own components, shared by the embedded server and the webhook."""

from typing import Final

CONTROLLER: Final = "virtshape-controller"
APISERVER: Final = "virtshape-apiserver"


def name_user(namespace: str, account: str) -> str:
    """Return the user name that a service account has."""
    return f"system:serviceaccount:{namespace}:{account}"


def list_trusted(namespace: str) -> frozenset[str]:
    """Return the users whose writes admission trusts in an installation in this namespace."""
    return frozenset({name_user(namespace, CONTROLLER), name_user(namespace, APISERVER)})
