"""
Admission of roles and bindings: set defaults, validate, and prevent privilege escalation.

A server-side apply that creates an object of any kind requires `create` permission.
"""

from typing import cast

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.model import JsonObject
from virtshape.api.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from virtshape.api.validation.violation import invalid_object_error
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.authorization import RBAC_GROUP, AccessObject, Attributes, Authorizer, Binding
from virtshape.apiserver.auth.escalation import prevent_binding_escalation, prevent_role_escalation
from virtshape.apiserver.auth.rbacvalidation import check_rbac_object, default_rbac_object
from virtshape.apiserver.route import Route


class RbacAdmission:
    """Defaults and validates roles and bindings, and prevents privilege escalation, as in kube-apiserver."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def admit(
        self, operation: str, route: Route, user: User, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool
    ) -> tuple[JsonObject | None, list[str]]:
        """
        Default and validate a role or binding; reject one that grants permissions the user lacks.

        If a patch creates an object of any kind, require that the user may create it.
        """
        del dry_run
        if operation == "CREATE" and route.verb == "patch":
            self._authorizer.require(user, _create(route))
        if route.kind.group != RBAC_GROUP or new is None or operation == "DELETE":
            return new, []
        struct = cast("type[AccessObject]", route.kind.struct)
        item = from_tree(new, struct)
        before = from_tree(old, struct) if old is not None else None
        completed = default_rbac_object(item)
        self._prevent_escalation(user, completed, before)
        causes = check_rbac_object(completed, before)
        if causes:
            raise invalid_object_error(route.kind, item.metadata.name or "", causes)
        return new if completed == item else {**new, **_references(cast("Binding", completed))}, []

    def _prevent_escalation(self, user: User, item: AccessObject, before: AccessObject | None) -> None:
        match item:
            case Role() | ClusterRole():
                prevent_role_escalation(user, self._authorizer, item, cast("Role | ClusterRole | None", before))
            case RoleBinding() | ClusterRoleBinding():
                prevent_binding_escalation(user, self._authorizer, item, cast("Binding | None", before))


def _create(route: Route) -> Attributes:
    return Attributes("create", route.kind.group, route.kind.plural, "", route.namespace, route.name)


def _references(binding: Binding) -> JsonObject:
    references: JsonObject = {"roleRef": to_tree(binding.role_ref)}
    if binding.subjects:
        references["subjects"] = to_tree(binding.subjects)
    return references
