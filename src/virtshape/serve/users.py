"""
Users of a system: credentials in the directory's register, and bindings in its API, given and taken back together.

Decides nothing about what a role permits.
"""

from pathlib import Path
from typing import Literal
from urllib.parse import quote

from msgspec import Struct

from virtshape.api.status import StatusError
from virtshape.apiserver.builtinroles import RBAC_VERSION
from virtshape.apiserver.users import Directory, create_user, remove_user
from virtshape.serve.door import Door

_PLURALS = {"RoleBinding": "rolebindings", "ClusterRoleBinding": "clusterrolebindings"}


class Grant(Struct, frozen=True, kw_only=True):
    """What a user is given."""

    namespace: str | None = None
    role: str | None = None
    groups: tuple[str, ...] = ()
    by: Literal["certificate", "token"] = "certificate"


def admit_user(door: Door, directory: Path, name: str, grant: Grant, url: str | None = None) -> str:
    """Give a user access; their kubeconfig."""
    if grant.namespace:
        door.ask("GET", f"/api/v1/namespaces/{quote(grant.namespace, safe='')}")  # refused before anything is given
    new = create_user(
        Directory(directory),
        url or door.server.url,
        name,
        namespace=grant.namespace,
        role=grant.role,
        groups=grant.groups,
        by=grant.by,
    )
    for binding in new.bindings:
        try:
            door.ask("POST", _path(binding.kind or "", grant.namespace or ""), binding)
        except StatusError as error:
            if error.reason != "AlreadyExists":  # the name says it all, so one that is there is the same
                raise
    return new.kubeconfig


def dismiss_user(door: Door, directory: Path, name: str) -> None:
    """Take back all that a user was given."""
    for kind, namespace, binding in remove_user(Directory(directory), name):
        try:
            door.ask("DELETE", f"{_path(kind, namespace)}/{quote(binding, safe='')}")
        except StatusError as error:
            if error.reason != "NotFound":
                raise


def _path(kind: str, namespace: str) -> str:
    where = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/{RBAC_VERSION}{where}/{_PLURALS[kind]}"
