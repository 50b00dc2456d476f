"""
The say of access control in copies: who takes content from another namespace must be allowed to, there.

As CDI has it, the right is to create `datavolumes/source` in the namespace that the content is in.
"""

from virtshape.admission.clones import GROUP, explain_forbidden_copy, find_copying
from virtshape.admission.world import World
from virtshape.apiserver.auth.authentication import AUTHENTICATED, SERVICE_ACCOUNTS, User, account_user_name
from virtshape.apiserver.auth.authorization import Attributes, Authorizer, refuse
from virtshape.apiserver.objects import Tree
from virtshape.apiserver.route import Route


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
        if new is None or operation == "DELETE" or route.subresource:
            return new, []
        copying = find_copying(route.kind, new, old, route.namespace, self._world.find)
        users = [user, *([act_as(route.namespace, copying.account)] if copying.account else [])]
        for namespace in copying.namespaces:
            wanted = make_attributes(namespace)
            if not any(self._authorizer.authorize(user, wanted).allowed for user in users):
                message = explain_forbidden_copy([user.name for user in users], namespace)
                raise refuse(route.kind.group, route.kind.plural, route.name, message)
        return new, []


def make_attributes(namespace: str) -> Attributes:
    """What it takes to copy from a namespace."""
    return Attributes("create", GROUP, "datavolumes", "source", namespace)


def act_as(namespace: str, account: str) -> User:
    """Who a service account is to access control."""
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(account_user_name(namespace, account), groups)
