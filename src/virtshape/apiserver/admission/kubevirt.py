"""
Admission of VMs, instance types and related kinds in the embedded API server.

The rules are in the admission package, which the webhook uses too.
"""

from typing import Final

from virtshape.admission.accounts import APISERVER, CONTROLLER, list_trusted, name_user
from virtshape.admission.admit import admit, has_rules
from virtshape.admission.clusterstate import ClusterState
from virtshape.api.model import JsonObject
from virtshape.apiserver.auth.authentication import AUTHENTICATED, MASTERS, User
from virtshape.apiserver.route import Route

_NAMESPACE: Final = "kubevirt"
_TRUSTED: Final = list_trusted(_NAMESPACE)
CONTROLLER_USER: Final = User(name_user(_NAMESPACE, CONTROLLER), (MASTERS, AUTHENTICATED))
APISERVER_USER: Final = User(name_user(_NAMESPACE, APISERVER), (MASTERS, AUTHENTICATED))


class KubeVirtAdmission:
    """Defaults and validates VMs, VMIs, instance types, preferences, flavors and DataVolumes."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state

    async def admit(
        self, operation: str, route: Route, user: User, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool
    ) -> tuple[JsonObject | None, list[str]]:
        """Default and validate an object; status writes are checked by RBAC alone."""
        del dry_run
        if new is None or operation == "DELETE" or route.subresource or not has_rules(route.kind):
            return new, []
        return admit(route.kind, new, old, self._state, trusted=is_system(user))


def is_system(user: User) -> bool:
    """
    Return True for the server's own controllers and actions.

    The group check excludes tokens of service accounts that a user created under one of these names.
    """
    return user.name in _TRUSTED and MASTERS in user.groups
