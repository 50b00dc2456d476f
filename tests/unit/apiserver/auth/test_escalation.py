import pytest
from tests.support.rbac import ADMIN, BOB, RBAC, build_aggregated_role, build_binding, build_role, build_rule

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authorization import Authorizer
from virtshape.apiserver.auth.builtinroles import build_bindings, build_roles
from virtshape.apiserver.auth.escalation import prevent_binding_escalation, prevent_role_escalation

GRANTOR = [
    build_role(build_rule("get list", "virtualmachines */scale"), build_rule("get", nonResourceURLs=["/api/*"])),
    build_binding("User/bob"),
]
MISSING = (
    'user "bob" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:'
)
ESCALATIONS: dict[str, tuple[list[JsonObject], list[str]]] = {
    "permissions that the user has": ([build_rule("get list", "virtualmachines")], []),
    "part of the permissions": ([build_rule("get", "virtualmachines", resourceNames=["x"])], []),
    "resource included in a wildcard": ([build_rule("get", "virtualmachines/scale")], []),
    "path below": ([build_rule("get", nonResourceURLs=["/api/v1", "/api/v1/*"])], []),
    "nothing": ([build_rule("get", "")], []),
    "other verb": (
        [build_rule("get delete update", "virtualmachines")],
        ['{APIGroups:["kubevirt.io"], Resources:["virtualmachines"], Verbs:["delete" "update"]}'],
    ),
    "all verbs": (
        [build_rule("*", "virtualmachines")],
        ['{APIGroups:["kubevirt.io"], Resources:["virtualmachines"], Verbs:["*"]}'],
    ),
    "other subresource": (
        [build_rule("get", "virtualmachines/status")],
        ['{APIGroups:["kubevirt.io"], Resources:["virtualmachines/status"], Verbs:["get"]}'],
    ),
    "two resources": (
        [build_rule("get", "secrets configmaps", "", resourceNames=["x"])],
        [
            '{APIGroups:[""], Resources:["configmaps"], ResourceNames:["x"], Verbs:["get"]}',
            '{APIGroups:[""], Resources:["secrets"], ResourceNames:["x"], Verbs:["get"]}',
        ],
    ),
    "other path": (
        [build_rule("get", nonResourceURLs=["/apis"])],
        ['{NonResourceURLs:["/apis"], Verbs:["get"]}'],
    ),
}


@pytest.mark.parametrize(("rules", "missing"), ESCALATIONS.values(), ids=ESCALATIONS.keys())
def test_role_is_rejected_only_if_it_exceeds_the_permissions_of_the_user(
    rules: list[JsonObject], missing: list[str]
) -> None:
    role, authorizer = build_role(*rules, name="new"), Authorizer(GRANTOR)
    prevent_role_escalation(ADMIN, authorizer, role)
    prevent_role_escalation(BOB, authorizer, role, before=role)
    if not missing:
        prevent_role_escalation(BOB, authorizer, role)
        return
    with pytest.raises(StatusError) as refusal:
        prevent_role_escalation(BOB, authorizer, role)
    message = "\n".join([MISSING, *missing])
    assert refusal.value.message == f'clusterroles.{RBAC} "new" is forbidden: {message}'
    assert refusal.value.code == 403


def test_user_with_permission_for_one_name_can_grant_only_that_name() -> None:
    authorizer = Authorizer(
        [build_role(build_rule("get", "secrets", "", resourceNames=["x"])), build_binding("User/bob")]
    )
    prevent_role_escalation(
        BOB, authorizer, build_role(build_rule("get", "secrets", "", resourceNames=["x"]), name="new")
    )
    for names in (["y"], ["x", "y"], None):
        with pytest.raises(StatusError):
            prevent_role_escalation(
                BOB, authorizer, build_role(build_rule("get", "secrets", "", resourceNames=names), name="new")
            )


def test_escalate_verb_allows_any_role() -> None:
    escalate = build_role(build_rule("escalate", "roles", RBAC, resourceNames=["new"]), name="e")
    authorizer = Authorizer([escalate, build_binding("User/bob", "ClusterRole/e")])
    prevent_role_escalation(BOB, authorizer, build_role(build_rule("*", "*", "*"), name="new", namespace="prod"))
    with pytest.raises(StatusError):
        prevent_role_escalation(BOB, authorizer, build_role(build_rule("*", "*", "*"), name="other", namespace="prod"))


def test_aggregation_rule_requires_cluster_admin() -> None:
    role = build_aggregated_role("new", "x")
    with pytest.raises(StatusError, match="must have cluster-admin privileges to use the aggregationRule"):
        prevent_role_escalation(BOB, Authorizer(GRANTOR), role)
    everything = [*build_roles(), build_binding("User/bob", "ClusterRole/cluster-admin")]
    prevent_role_escalation(BOB, Authorizer(everything), role)


def test_binding_to_a_role_beyond_the_permissions_of_the_user_is_rejected() -> None:
    big = build_role(build_rule("delete", "virtualmachines"), name="big")
    authorizer = Authorizer([*GRANTOR, big])
    prevent_binding_escalation(BOB, authorizer, build_binding("User/eve"))
    binding = build_binding("User/eve", "ClusterRole/big", "prod")
    prevent_binding_escalation(ADMIN, authorizer, binding)
    prevent_binding_escalation(BOB, authorizer, binding, before=binding)
    with pytest.raises(StatusError) as refusal:
        prevent_binding_escalation(BOB, authorizer, binding)
    assert refusal.value.message == (
        f'rolebindings.{RBAC} "b" is forbidden: {MISSING}\n'
        '{APIGroups:["kubevirt.io"], Resources:["virtualmachines"], Verbs:["delete"]}'
    )


def test_namespace_admin_binds_roles_only_in_that_namespace() -> None:
    objects = [*build_roles(), *build_bindings(), build_binding("User/bob", "ClusterRole/admin", "prod")]
    authorizer = Authorizer(objects)
    for role in ("view", "edit", "admin"):
        prevent_binding_escalation(BOB, authorizer, build_binding("User/eve", f"ClusterRole/{role}", "prod"))
    for role, namespace in (("cluster-admin", "prod"), ("view", "test"), ("view", None)):
        with pytest.raises(StatusError):
            prevent_binding_escalation(BOB, authorizer, build_binding("User/eve", f"ClusterRole/{role}", namespace))


def test_bind_verb_allows_binding_a_role_beyond_the_permissions_of_the_user() -> None:
    bind = build_role(build_rule("bind", "clusterroles", RBAC, resourceNames=["big"]), name="bind")
    big = build_role(build_rule("*", "*", "*"), name="big")
    authorizer = Authorizer([bind, big, build_binding("User/bob", "ClusterRole/bind", "prod")])
    prevent_binding_escalation(BOB, authorizer, build_binding("User/eve", "ClusterRole/big", "prod", name="new"))
    with pytest.raises(StatusError):
        prevent_binding_escalation(BOB, authorizer, build_binding("User/eve", "ClusterRole/big", "test", name="new"))


def test_binding_a_missing_role_requires_the_bind_verb() -> None:
    with pytest.raises(StatusError) as refusal:
        prevent_binding_escalation(BOB, Authorizer(), build_binding("User/eve", "ClusterRole/none"))
    assert (refusal.value.code, refusal.value.message) == (404, f'clusterroles.{RBAC} "none" not found')
