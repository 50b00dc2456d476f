"""
Admission of clones: cloning from another namespace requires permission there.

As in CDI, the permission is to create `datavolumes/source` in the source namespace.
"""

from virtshape.admission.clones import GROUP, explain_forbidden_clone, find_clone_sources
from virtshape.admission.clusterstate import ClusterState
from virtshape.api.model import JsonObject
from virtshape.apiserver.auth.authentication import AUTHENTICATED, SERVICE_ACCOUNTS, User, account_user_name
from virtshape.apiserver.auth.authorization import Attributes, Authorizer, forbidden_object_error
from virtshape.apiserver.route import Route


class CloneAdmission:
    """Rejects DataVolumes, data sources and VMs that clone data which their author may not clone."""

    def __init__(self, state: ClusterState, authorizer: Authorizer) -> None:
        self._state = state
        self._authorizer = authorizer

    async def admit(
        self, operation: str, route: Route, user: User, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool
    ) -> tuple[JsonObject | None, list[str]]:
        """Admit objects that clone nothing new, or only permitted data."""
        del dry_run
        if new is None or operation == "DELETE" or route.subresource:
            return new, []
        copying = find_clone_sources(route.kind, new, old, route.namespace, self._state.find)
        users = [user, *([service_account_user(route.namespace, copying.account)] if copying.account else [])]
        for namespace in copying.namespaces:
            wanted = clone_attributes(namespace)
            if not any(self._authorizer.authorize(user, wanted).allowed for user in users):
                message = explain_forbidden_clone([user.name for user in users], namespace)
                raise forbidden_object_error(route.kind.group, route.kind.plural, route.name, message)
        return new, []


def clone_attributes(namespace: str) -> Attributes:
    """Return the permission needed to clone from a namespace."""
    return Attributes("create", GROUP, "datavolumes", "source", namespace)


def service_account_user(namespace: str, account: str) -> User:
    """Return the user of a service account."""
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(account_user_name(namespace, account), groups)
