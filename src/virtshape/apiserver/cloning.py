"""
The say of access control in copies: who takes content from another namespace must be allowed to, there.

As CDI has it, the right is to create `datavolumes/source` in the namespace that the content is in.
"""

from collections.abc import Iterable
from typing import Final

from virtshape.admission.clones import (
    find_service_account,
    list_foreign_origins,
    list_foreign_targets,
    list_template_origins,
)
from virtshape.admission.world import World
from virtshape.api.cdi import DataSource, DataVolume
from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.apiserver.access.authentication import AUTHENTICATED, SERVICE_ACCOUNTS, User, account_user_name
from virtshape.apiserver.access.authorization import Attributes, Authorizer, refuse
from virtshape.apiserver.objects import Tree
from virtshape.apiserver.route import Route

GROUP: Final = "cdi.kubevirt.io"


class CloneAdmission:
    """Refuses DataVolumes, data sources and VMs that copy what their author may not copy."""

    def __init__(self, world: World, authorizer: Authorizer) -> None:
        self._world = world
        self._authorizer = authorizer

    async def admit(
        self, operation: str, route: Route, user: User, new: Tree | None, old: Tree | None, *, dry_run: bool
    ) -> tuple[Tree | None, list[str]]:
        """Let pass what copies nothing, or nothing new, or what may be copied."""
        del dry_run
        if new is None or operation == "DELETE" or route.subresource or not _is_changed(new, old):
            return new, []
        match route.kind.group, route.kind.kind:
            case "cdi.kubevirt.io", "DataVolume":
                spec = from_tree(new, DataVolume).spec
                self._require(route, list_foreign_origins(spec, route.namespace, self._world.find), user)
            case "cdi.kubevirt.io", "DataSource":
                source = from_tree(new, DataSource).spec.source
                self._require(route, list_foreign_targets(source, route.namespace), user)
            case "kubevirt.io", "VirtualMachine" if (new.get("spec") or {}).get("dataVolumeTemplates"):
                vm = from_tree(new, VirtualMachine)
                account = _act_as(route.namespace, find_service_account(vm))
                self._require(route, list_template_origins(vm, self._world.find), user, account)
        return new, []

    def _require(self, route: Route, namespaces: Iterable[str], *users: User) -> None:
        """Refuse unless one of these users may copy from all the namespaces."""
        for namespace in sorted(namespaces):
            wanted = Attributes("create", GROUP, "datavolumes", "source", namespace)
            if not any(self._authorizer.authorize(user, wanted).allowed for user in users):
                names = " and ".join(f'"{user.name}"' for user in users)
                words = f"User {names} has insufficient permissions in clone source namespace {namespace}"
                more = f"needs to create datavolumes/source in API group {GROUP} there"
                raise refuse(route.kind.group, route.kind.plural, route.name, f"{words}: {more}")


def _is_changed(new: Tree, old: Tree | None) -> bool:
    return old is None or new.get("spec") != old.get("spec")


def _act_as(namespace: str, account: str) -> User:
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(account_user_name(namespace, account), groups)
