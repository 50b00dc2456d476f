"""Add and remove users of a standalone server, with their credentials and role bindings."""

from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from virtshape.api.core.namespace import Namespace
from virtshape.api.rbac import ClusterRoleBinding, RoleBinding
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authorization import Binding
from virtshape.apiserver.auth.users import Directory, create_user, remove_user
from virtshape.client.protocol import Client
from virtshape.standalone.serveraccess import read_access

_STRUCTS: Final[dict[str, type[Binding]]] = {"RoleBinding": RoleBinding, "ClusterRoleBinding": ClusterRoleBinding}


class Grant(Struct, frozen=True, kw_only=True):
    """Permissions and credentials of a user."""

    namespace: str | None = None
    role: str | None = None
    groups: tuple[str, ...] = ()
    by: Literal["certificate", "token"] = "certificate"


async def grant_access(client: Client, directory: Path, name: str, grant: Grant, url: str | None = None) -> str:
    """Create a user's credentials and bindings; return the kubeconfig, with `url` as its server if it is given."""
    if grant.namespace:
        await client.get(Namespace, grant.namespace)  # raises before anything is created
    new = create_user(
        Directory(directory),
        url or read_access(directory).server,
        name,
        namespace=grant.namespace,
        role=grant.role,
        groups=grant.groups,
        by=grant.by,
    )
    for binding in new.bindings:
        try:
            await client.create(binding)
        except StatusError as error:
            if error.reason != "AlreadyExists":  # the name is derived from the content, so an existing binding is equal
                raise
    return new.kubeconfig


async def revoke_access(client: Client, directory: Path, name: str) -> None:
    """Remove a user's credentials and bindings."""
    for kind, namespace, binding in remove_user(Directory(directory), name):
        try:
            await client.delete(_STRUCTS[kind], binding, namespace)
        except StatusError as error:
            if error.reason != "NotFound":
                raise
