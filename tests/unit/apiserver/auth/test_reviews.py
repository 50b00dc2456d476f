from pathlib import Path
from typing import Any

import pytest
from tests.support.rbac import ADMIN, BOB, build_binding, build_role, build_rule

from virtshape.api import authentication, authorization
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import Authenticator, User
from virtshape.apiserver.auth.authorization import Authorizer
from virtshape.apiserver.auth.builtinroles import build_bindings, build_roles
from virtshape.apiserver.auth.certificates import make_key
from virtshape.apiserver.auth.reviews import AuthContext, answer_review
from virtshape.apiserver.auth.tokens import ISSUER, TokenSigner
from virtshape.apiserver.auth.userregistry import RegistryEntry, UserRegistry, digest_token

GET_VM = {"verb": "get", "group": "kubevirt.io", "resource": "virtualmachines", "namespace": "prod"}
ALLOWED = 'RBAC: allowed by RoleBinding "b/prod" of ClusterRole "r" to User "bob"'


@pytest.fixture
def context(tmp_path: Path) -> AuthContext:
    register = UserRegistry(tmp_path / "users.json")
    register.add(RegistryEntry(name="eve", kind="token", id=digest_token("t"), groups=("dev",), issued=0, uid="e"))
    authenticator = Authenticator(register, TokenSigner(make_key()), lambda *_: None)
    rules = build_rule("get", "virtualmachines"), build_rule("get", nonResourceURLs=["/healthz"])
    return AuthContext(authenticator, Authorizer([build_role(*rules), build_binding("User/bob", namespace="prod")]))


def review(
    kind: str, context: AuthContext, user: User = BOB, namespace: str = "", spec: JsonObject | None = None
) -> Any:
    """Return the status of a review of this kind."""
    module = authorization if hasattr(authorization, kind) else authentication
    group = module.__name__.rpartition(".")[2]
    request: JsonObject = {"apiVersion": f"{group}.k8s.io/v1", "kind": kind}
    if spec is not None:
        request["spec"] = spec
    struct: Any = getattr(module, kind)
    response: Model = answer_review(from_tree(request, struct), user, context, namespace)
    tree = to_tree(response)
    status, metadata = tree.pop("status"), tree.pop("metadata")
    assert tree == request
    assert metadata.get("namespace", "") == namespace
    return status


def assert_refused(code: int, message: str, *arguments: Any, **rest: Any) -> None:
    with pytest.raises(StatusError) as refusal:
        review(*arguments, **rest)
    assert (refusal.value.code, refusal.value.message) == (code, message)


def test_self_subject_access_review_checks_the_requesting_user(context: AuthContext) -> None:
    for wanted, status in [
        (GET_VM, {"allowed": True, "reason": ALLOWED}),
        (GET_VM | {"verb": "delete"}, {"allowed": False}),
        (GET_VM | {"namespace": ""}, {"allowed": False}),
    ]:
        assert review("SelfSubjectAccessReview", context, spec={"resourceAttributes": wanted}) == status


def test_self_subject_access_review_checks_a_non_resource_path(context: AuthContext) -> None:
    spec = {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}
    assert review("SelfSubjectAccessReview", context, spec=spec) == {"allowed": False}
    assert review("SelfSubjectAccessReview", context, ADMIN, spec=spec) == {"allowed": True}


def test_subject_access_review_checks_the_user_in_its_spec(context: AuthContext) -> None:
    cases: list[tuple[JsonObject, bool]] = [
        ({"user": "bob"}, True),
        ({"user": "eve"}, False),
        ({"groups": ["system:masters"]}, True),
    ]
    for who, allowed in cases:
        status = review("SubjectAccessReview", context, ADMIN, spec={**who, "resourceAttributes": GET_VM})
        assert status["allowed"] is allowed


def test_local_subject_access_review_checks_access_to_its_namespace(context: AuthContext) -> None:
    spec = {"user": "bob", "resourceAttributes": GET_VM}
    status = review("LocalSubjectAccessReview", context, ADMIN, "prod", spec)
    assert status == {"allowed": True, "reason": ALLOWED}


@pytest.mark.parametrize(
    ("kind", "spec", "code", "message"),
    [
        pytest.param(
            "SelfSubjectAccessReview",
            {},
            422,
            "spec.resourceAttributes: Invalid value: null: "
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
            id="no attributes",
        ),
        pytest.param(
            "SelfSubjectAccessReview",
            {"resourceAttributes": GET_VM, "nonResourceAttributes": {"path": "/"}},
            422,
            "spec.nonResourceAttributes: Invalid value: null: "
            "cannot be specified in combination with resourceAttributes",
            id="resource and path",
        ),
        pytest.param(
            "SubjectAccessReview",
            {"resourceAttributes": GET_VM},
            422,
            'spec.user: Invalid value: "": at least one of user or group must be specified',
            id="no user and no group",
        ),
        pytest.param(
            "LocalSubjectAccessReview",
            {"user": "bob", "nonResourceAttributes": {"path": "/"}},
            422,
            "spec.nonResourceAttributes: Invalid value: null: disallowed on this kind of request",
            id="path in a namespace",
        ),
    ],
)
def test_invalid_access_review_is_rejected(
    context: AuthContext, kind: str, spec: JsonObject, code: int, message: str
) -> None:
    assert_refused(code, f'{kind}.authorization.k8s.io "" is invalid: {message}', kind, context, spec=spec)


def test_namespace_of_a_local_review_must_match_the_path(context: AuthContext) -> None:
    spec = {"user": "bob", "resourceAttributes": GET_VM}
    head = 'LocalSubjectAccessReview.authorization.k8s.io "" is invalid'
    message = f'{head}: spec.resourceAttributes.namespace: Invalid value: "prod": must match metadata.namespace'
    assert_refused(422, message, "LocalSubjectAccessReview", context, namespace="test", spec=spec)


def test_self_subject_rules_review_lists_the_rules(context: AuthContext) -> None:
    assert review("SelfSubjectRulesReview", context, spec={"namespace": "prod"}) == {
        "incomplete": False,
        "resourceRules": [{"verbs": ["get"], "apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}],
    }
    assert review("SelfSubjectRulesReview", context, spec={"namespace": "test"}) == {
        "incomplete": False,
        "resourceRules": [],
        "nonResourceRules": [],
    }


def test_rules_review_lists_the_rules_of_admin_and_viewer(context: AuthContext) -> None:
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    assert review("SelfSubjectRulesReview", context, ADMIN, spec={"namespace": "x"})["resourceRules"] == [everything]
    viewer = build_binding("User/bob", "ClusterRole/view", "prod")
    authorizer = Authorizer([*build_roles(), *build_bindings(), viewer])
    status = review("SelfSubjectRulesReview", context._replace(authorizer=authorizer), spec={"namespace": "prod"})
    granted = {(rule["apiGroups"][0], resource) for rule in status["resourceRules"] for resource in rule["resources"]}
    assert {("kubevirt.io", "virtualmachines"), ("", "pods"), ("cdi.kubevirt.io", "datavolumes")} <= granted


def test_rules_review_requires_a_namespace(context: AuthContext) -> None:
    assert_refused(400, "no namespace on request", "SelfSubjectRulesReview", context, spec={})


def test_token_review_returns_the_user(context: AuthContext) -> None:
    assert review("TokenReview", context, spec={"token": "t"}) == {
        "authenticated": True,
        "user": {"username": "eve", "uid": "e", "groups": ["dev", "system:authenticated"]},
        "audiences": [ISSUER],
    }


@pytest.mark.parametrize(
    ("spec", "message"),
    [({"token": "x"}, "unknown token"), ({"token": "t", "audiences": ["vault"]}, "the token is valid for audiences")],
    ids=["unknown", "other audience"],
)
def test_token_review_of_an_invalid_token_is_unauthenticated(
    context: AuthContext, spec: JsonObject, message: str
) -> None:
    status = review("TokenReview", context, spec=spec)
    assert status.pop("error").startswith(message)
    assert status == {"user": {}}


def test_token_review_without_token_is_rejected(context: AuthContext) -> None:
    message = "token is required for TokenReview in authentication"
    assert_refused(400, message, "TokenReview", context, spec={"token": ""})


def test_self_subject_review_returns_the_user(context: AuthContext) -> None:
    user = User("bob", ("dev",), "u1", {"scopes": ("all",)})
    assert review("SelfSubjectReview", context, user) == {
        "userInfo": {"username": "bob", "groups": ["dev"], "uid": "u1", "extra": {"scopes": ["all"]}}
    }
