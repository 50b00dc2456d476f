"""Admission defaults and validates roles and bindings, and prevents privilege escalation."""

from typing import Any

import pytest
from tests.support.rbac import ADMIN, BOB, build_binding, build_role, build_rule

from virtshape.api.kinds import find_kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.admission.rbac import RbacAdmission
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.authorization import Authorizer
from virtshape.apiserver.route import Route, Verb

RBAC = "rbac.authorization.k8s.io"


def build(kind: str, **rest: Any) -> JsonObject:
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": "x", "namespace": "prod"}, **rest}


BINDING = build(
    "RoleBinding",
    roleRef={"kind": "ClusterRole", "name": "r"},
    subjects=[{"kind": "User", "name": "eve"}, {"kind": "ServiceAccount", "name": "robot", "namespace": "prod"}],
)
COMPLETE = {
    **BINDING,
    "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "r"},
    "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "eve"}, BINDING["subjects"][1]],
}
GET = build("Role", rules=[build_rule("get", "virtualmachines")])
DELETE = build("Role", rules=[build_rule("delete", "virtualmachines")])


async def admit(
    tree: JsonObject, user: User = ADMIN, old: JsonObject | None = None, operation: str = ""
) -> JsonObject | None:
    kind = find_kind(tree["apiVersion"], tree["kind"])
    assert kind is not None
    verb: Verb = "create" if old is None else "update"
    route = Route(verb, kind, "prod", "x", "")
    bobs = [build_role(build_rule("get", "virtualmachines")), build_binding("User/bob")]
    admission = RbacAdmission(Authorizer(bobs))
    operation = operation or ("CREATE" if old is None else "UPDATE")
    new = None if operation == "DELETE" else tree
    admitted, warnings = await admission.admit(operation, route, user, new, old, dry_run=False)
    assert warnings == []
    return admitted


async def test_api_groups_of_a_binding_get_defaults() -> None:
    assert await admit(BINDING) == COMPLETE


ADMITTED: dict[str, tuple[JsonObject, User, JsonObject | None]] = {
    "complete binding": (COMPLETE, ADMIN, None),
    "role with permissions of the user": (GET, BOB, None),
    "finalizer added to a role with other permissions": (
        {**DELETE, "metadata": {**DELETE["metadata"], "finalizers": ["example.com/x"]}},
        BOB,
        DELETE,
    ),
    "binding to a role with permissions of the user": (COMPLETE, BOB, None),
    "other kind": ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}, BOB, None),
}


@pytest.mark.parametrize(("tree", "user", "old"), ADMITTED.values(), ids=ADMITTED.keys())
async def test_valid_rbac_object_is_unchanged(tree: JsonObject, user: User, old: JsonObject | None) -> None:
    assert await admit(tree, user, old) is tree


REFUSED: dict[str, tuple[JsonObject, User, JsonObject | None, int, str]] = {
    "role with other permissions": (DELETE, BOB, None, 403, "attempting to grant RBAC permissions not currently held"),
    "permission added to a role": (DELETE, BOB, GET, 403, "attempting to grant RBAC permissions not currently held"),
    "label added to a role with other permissions": (
        {**DELETE, "metadata": {**DELETE["metadata"], "labels": {"a": "b"}}},
        BOB,
        DELETE,
        403,
        "attempting to grant RBAC permissions not currently held",
    ),
    "binding to a missing role": (
        {**COMPLETE, "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "nope"}},
        BOB,
        None,
        404,
        'clusterroles.rbac.authorization.k8s.io "nope" not found',
    ),
    "no verbs": (
        build("Role", rules=[{"verbs": [], "resources": ["x"], "apiGroups": [""]}]),
        ADMIN,
        None,
        422,
        "verbs",
    ),
    "changed role reference": (
        {**COMPLETE, "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "other"}},
        ADMIN,
        COMPLETE,
        422,
        "cannot change roleRef",
    ),
}


@pytest.mark.parametrize(("tree", "user", "old", "code", "message"), REFUSED.values(), ids=REFUSED.keys())
async def test_invalid_rbac_object_is_rejected(
    tree: JsonObject, user: User, old: JsonObject | None, code: int, message: str
) -> None:
    with pytest.raises(StatusError) as caught:
        await admit(tree, user, old)
    assert caught.value.code == code
    assert message in caught.value.message


async def test_deletion_of_a_role_is_not_checked_for_escalation() -> None:
    assert await admit(DELETE, BOB, DELETE, "DELETE") is None
