"""
Admission of VMs, instance types and related kinds in the embedded API server.

The rules are in the admission package, which the webhook uses too. All rules share one decoded object.
"""

from typing import Final

from virtshape.admission.accounts import APISERVER, CONTROLLER, get_trusted_users
from virtshape.admission.admit import admit, has_rules
from virtshape.admission.clones import find_clone_request, search_clone_sources
from virtshape.admission.deletion import may_be_in_use, search_deletion_warnings
from virtshape.admission.submission import Submission
from virtshape.api.core.serviceaccount import name_account_user
from virtshape.api.model import JsonObject
from virtshape.api.wellknown import KUBEVIRT
from virtshape.apiserver.admission.clones import require_clone_permission
from virtshape.apiserver.admission.storestate import StoreState
from virtshape.apiserver.auth.authentication import AUTHENTICATED, MASTERS, User
from virtshape.apiserver.auth.authorization import Attributes, Authorizer, Decision
from virtshape.apiserver.route import Route
from virtshape.resolve.search import run_search

_TRUSTED: Final = get_trusted_users(KUBEVIRT, MASTERS)
"""The system's own users. The required group excludes service accounts that a user created under their names."""
CONTROLLER_USER: Final = User(name_account_user(KUBEVIRT, CONTROLLER), (MASTERS, AUTHENTICATED))
APISERVER_USER: Final = User(name_account_user(KUBEVIRT, APISERVER), (MASTERS, AUTHENTICATED))


class KubeVirtAdmission:
    """Defaults and validates VMs, VMIs, instance types, preferences, flavors and DataVolumes; authorizes clones."""

    def __init__(self, state: StoreState, authorizer: Authorizer) -> None:
        self._state = state
        self._authorizer = authorizer

    async def admit(
        self, operation: str, route: Route, user: User, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool
    ) -> tuple[JsonObject | None, list[str]]:
        """Default and validate an object, or warn if a deleted object is in use; subresource writes are not checked."""
        del dry_run
        if operation == "DELETE" and old is not None and may_be_in_use(route.kind, old):
            return new, run_search(search_deletion_warnings(old), self._state.answer)
        if new is None or operation == "DELETE" or route.subresource or not has_rules(route.kind):
            return new, []
        submission = Submission(route.kind, new, old)
        request = find_clone_request(submission, route.namespace)
        if request is not None:
            sources = run_search(search_clone_sources(request), self._state.find)
            await require_clone_permission(sources, user, route.kind, route.namespace, route.name, self._authorize)
        return run_search(
            admit(submission, self._state, trusted=_TRUSTED.includes(user.name, user.groups)), self._state.answer
        )

    async def _authorize(self, user: User, wanted: Attributes) -> Decision:
        return self._authorizer.authorize(user, wanted)
