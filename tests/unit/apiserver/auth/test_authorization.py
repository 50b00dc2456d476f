import pytest
from tests.support.rbac import (
    ADMIN,
    BOB,
    RBAC,
    ROBOT,
    build_attributes,
    build_binding,
    build_role,
    build_rule,
    is_allowed,
)

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.authorization import AccessObject, Attributes, Authorizer

RULES: dict[str, tuple[JsonObject, Attributes, bool]] = {
    "same verb": (build_rule("get", "virtualmachines"), build_attributes("get"), True),
    "other verb": (build_rule("get", "virtualmachines"), build_attributes("list"), False),
    "all verbs": (build_rule("*", "virtualmachines"), build_attributes("anything"), True),
    "other resource": (build_rule("get", "virtualmachineinstances"), build_attributes("get"), False),
    "all resources": (build_rule("get", "*"), build_attributes("get"), True),
    "other group": (build_rule("get", "virtualmachines", "x.io"), build_attributes("get"), False),
    "core group": (build_rule("get", "virtualmachines", ""), build_attributes("get"), False),
    "all groups": (build_rule("get", "virtualmachines", "*"), build_attributes("get"), True),
    "same subresource": (
        build_rule("get", "virtualmachines/status"),
        build_attributes("get", "virtualmachines/status"),
        True,
    ),
    "resource does not include its subresource": (
        build_rule("get", "virtualmachines"),
        build_attributes("get", "virtualmachines/status"),
        False,
    ),
    "subresource does not include its resource": (
        build_rule("get", "virtualmachines/status"),
        build_attributes("get"),
        False,
    ),
    "subresource of all resources": (
        build_rule("get", "*/scale"),
        build_attributes("get", "virtualmachines/scale"),
        True,
    ),
    "other subresource of all resources": (
        build_rule("get", "*/scale"),
        build_attributes("get", "virtualmachines/status"),
        False,
    ),
    "subresource of all resources does not include the resource": (
        build_rule("get", "*/scale"),
        build_attributes("get"),
        False,
    ),
    "all resources and their subresources": (
        build_rule("get", "*"),
        build_attributes("get", "virtualmachines/status"),
        True,
    ),
    "same name": (build_rule("get", "virtualmachines", resourceNames=["x"]), build_attributes("get", name="x"), True),
    "other name": (
        build_rule("get", "virtualmachines", resourceNames=["x"]),
        build_attributes("get", name="y"),
        False,
    ),
    "no name": (build_rule("list", "virtualmachines", resourceNames=["x"]), build_attributes("list"), False),
    "same path": (build_rule("get", nonResourceURLs=["/healthz"]), Attributes("get", path="/healthz"), True),
    "path below": (build_rule("get", nonResourceURLs=["/healthz"]), Attributes("get", path="/healthz/x"), False),
    "path below a wildcard": (build_rule("get", nonResourceURLs=["/api/*"]), Attributes("get", path="/api/v1"), True),
    "path before a wildcard": (build_rule("get", nonResourceURLs=["/api/*"]), Attributes("get", path="/api"), False),
    "all paths": (build_rule("*", nonResourceURLs=["*"]), Attributes("post", path="/x"), True),
    "wildcard inside a path": (build_rule("get", nonResourceURLs=["/a*c"]), Attributes("get", path="/abc"), False),
    "resource rule does not match paths": (build_rule("*", "*", "*"), Attributes("get", path="/x"), False),
    "path rule does not match resources": (build_rule("*", nonResourceURLs=["*"]), build_attributes("get"), False),
}


@pytest.mark.parametrize(("rule", "wanted", "allowed"), RULES.values(), ids=RULES.keys())
def test_rbac_rule_permits_only_listed_verbs_and_resources(rule: JsonObject, wanted: Attributes, allowed: bool) -> None:
    assert is_allowed(BOB, wanted, build_role(rule), build_binding("User/bob")) is allowed


READER = build_rule("get", "virtualmachines")
SUBJECTS: dict[str, tuple[User, str, str, bool]] = {
    "user": (BOB, "User/bob", "", True),
    "another user": (BOB, "User/eve", "", False),
    "group": (BOB, "Group/dev", "", True),
    "user with the name of the group": (User("dev"), "Group/dev", "", False),
    "group with the name of the user": (BOB, "User/dev", "", False),
    "service account": (ROBOT, "ServiceAccount/prod:robot", "", True),
    "service account of another namespace": (ROBOT, "ServiceAccount/test:robot", "", False),
    "service account of the binding's namespace": (ROBOT, "ServiceAccount/robot", "prod", True),
    "service account of no namespace": (ROBOT, "ServiceAccount/robot", "", False),
    "service account by its user name": (ROBOT, "User/system:serviceaccount:prod:robot", "", True),
    "service accounts of a namespace": (ROBOT, "Group/system:serviceaccounts:prod", "", True),
    "binding in the namespace": (BOB, "User/bob", "prod", True),
    "binding in another namespace": (BOB, "User/bob", "test", False),
}


@pytest.mark.parametrize(("user", "subject", "namespace", "allowed"), SUBJECTS.values(), ids=SUBJECTS.keys())
def test_binding_applies_only_to_its_subjects(user: User, subject: str, namespace: str, allowed: bool) -> None:
    assert (
        is_allowed(
            user, build_attributes("get"), build_role(READER), build_binding(subject, namespace=namespace or None)
        )
        is allowed
    )


def test_role_applies_only_in_its_namespace() -> None:
    role = build_role(READER, namespace="prod")
    assert is_allowed(BOB, build_attributes("get"), role, build_binding("User/bob", "Role/r", "prod"))
    assert not is_allowed(
        BOB, build_attributes("get", namespace="test"), role, build_binding("User/bob", "Role/r", "test")
    )


def test_role_binding_permits_nothing_cluster_wide() -> None:
    objects = build_role(build_rule("*", "*", "*")), build_binding("User/bob", namespace="prod")
    assert not is_allowed(BOB, build_attributes("list", namespace=""), *objects)
    assert not is_allowed(BOB, Attributes("get", path="/healthz"), *objects)


def test_members_of_system_masters_need_no_role() -> None:
    authorizer = Authorizer()
    assert authorizer.authorize(ADMIN, build_attributes("get")).allowed
    assert authorizer.authorize(ADMIN, Attributes("get", path="/x")).allowed
    assert not authorizer.authorize(BOB, build_attributes("get")).allowed


REASONS = {
    "cluster": (BOB, build_binding("User/bob"), 'ClusterRoleBinding "b" of ClusterRole "r" to User "bob"'),
    "namespace": (
        BOB,
        build_binding("Group/dev", namespace="prod"),
        'RoleBinding "b/prod" of ClusterRole "r" to Group "dev"',
    ),
    "account": (
        ROBOT,
        build_binding("ServiceAccount/robot", namespace="prod"),
        'RoleBinding "b/prod" of ClusterRole "r" to ServiceAccount "robot/prod"',
    ),
}


@pytest.mark.parametrize(("user", "binding", "grant"), REASONS.values(), ids=REASONS.keys())
def test_allowed_decision_names_binding_and_role(user: User, binding: AccessObject, grant: str) -> None:
    decision = Authorizer([build_role(READER), binding]).authorize(user, build_attributes("get"))
    assert decision == (True, f"RBAC: allowed by {grant}")


FORBIDDEN: dict[str, tuple[Attributes, str]] = {
    "object": (
        build_attributes("get", namespace="ns", name="x"),
        (
            'virtualmachines.kubevirt.io "x" is forbidden: User "bob" cannot get resource "virtualmachines" '
            'in API group "kubevirt.io" in the namespace "ns"'
        ),
    ),
    "list": (
        build_attributes("list"),
        (
            'virtualmachines.kubevirt.io is forbidden: User "bob" cannot list resource "virtualmachines" '
            'in API group "kubevirt.io" in the namespace "prod"'
        ),
    ),
    "cluster": (
        Attributes("list", "", "nodes"),
        'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope',
    ),
    "subresource": (
        build_attributes("update", "virtualmachines/status", name="x"),
        (
            'virtualmachines.kubevirt.io "x" is forbidden: User "bob" cannot update resource "virtualmachines/status" '
            'in API group "kubevirt.io" in the namespace "prod"'
        ),
    ),
    "path": (Attributes("get", path="/metrics"), 'forbidden: User "bob" cannot get path "/metrics"'),
}


@pytest.mark.parametrize(("wanted", "message"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_forbidden_message_matches_kubernetes(wanted: Attributes, message: str) -> None:
    with pytest.raises(StatusError) as refusal:
        Authorizer().require(BOB, wanted)
    assert (refusal.value.code, refusal.value.reason, refusal.value.message) == (403, "Forbidden", message)
    assert refusal.value.details.kind == (wanted.resource or None)
    assert refusal.value.details.name == (wanted.name or None)


def test_forbidden_message_names_missing_role() -> None:
    with pytest.raises(StatusError, match=f'"prod": RBAC: clusterrole.{RBAC} "r" not found$'):
        Authorizer([build_binding("User/bob")]).require(BOB, build_attributes("get"))


def test_role_and_binding_changes_apply_immediately() -> None:
    authorizer = Authorizer()
    answers = []

    def change(kind: str, name: str, item: AccessObject | None) -> None:
        authorizer.update(kind, "", name, item)
        answers.append(authorizer.authorize(BOB, build_attributes("get")).allowed)

    change("ClusterRoleBinding", "b", build_binding("User/bob"))
    change("ClusterRole", "r", build_role(READER))
    change("ClusterRole", "r", build_role(build_rule("list", "virtualmachines")))
    change("ClusterRole", "r", build_role(READER))
    change("ClusterRoleBinding", "b", build_binding("User/eve"))
    change("ClusterRoleBinding", "b", build_binding("Group/dev"))
    change("ClusterRoleBinding", "b", None)
    change("ClusterRoleBinding", "b", build_binding("User/bob"))
    change("ClusterRole", "r", None)
    assert answers == [False, True, False, True, False, True, False, True, False]


def test_bindings_with_same_name_in_two_namespaces_are_separate() -> None:
    bindings = [build_binding("User/bob", namespace=namespace) for namespace in ("prod", "test")]
    authorizer = Authorizer([build_role(READER), *bindings])
    authorizer.update("RoleBinding", "test", "b", None)
    assert authorizer.authorize(BOB, build_attributes("get")).allowed
    assert not authorizer.authorize(BOB, build_attributes("get", namespace="test")).allowed
