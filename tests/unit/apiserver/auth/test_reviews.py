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
def judge(tmp_path: Path) -> AuthContext:
    register = UserRegistry(tmp_path / "users.json")
    register.add(RegistryEntry(name="eve", kind="token", id=digest_token("t"), groups=("dev",), issued=0))
    authenticator = Authenticator(register, TokenSigner(make_key()), lambda *_: None)
    rules = build_rule("get", "virtualmachines"), build_rule("get", nonResourceURLs=["/healthz"])
    return AuthContext(authenticator, Authorizer([build_role(*rules), build_binding("User/bob", namespace="prod")]))


def ask(kind: str, judge: AuthContext, user: User = BOB, namespace: str = "", spec: JsonObject | None = None) -> Any:
    """The answer to a question of this kind: its status."""
    module = authorization if hasattr(authorization, kind) else authentication
    group = module.__name__.rpartition(".")[2]
    question: JsonObject = {"apiVersion": f"{group}.k8s.io/v1", "kind": kind}
    if spec is not None:
        question["spec"] = spec
    struct: Any = getattr(module, kind)
    answer: Model = answer_review(from_tree(question, struct), user, judge, namespace)
    tree = to_tree(answer)
    status, metadata = tree.pop("status"), tree.pop("metadata")
    assert tree == question
    assert metadata.get("namespace", "") == namespace
    return status


def assert_refused(code: int, message: str, *arguments: Any, **rest: Any) -> None:
    with pytest.raises(StatusError) as refusal:
        ask(*arguments, **rest)
    assert (refusal.value.code, refusal.value.message) == (code, message)


def test_self_subject_access_review(judge: AuthContext) -> None:
    for wanted, status in [
        (GET_VM, {"allowed": True, "reason": ALLOWED}),
        (GET_VM | {"verb": "delete"}, {"allowed": False}),
        (GET_VM | {"namespace": ""}, {"allowed": False}),
    ]:
        assert ask("SelfSubjectAccessReview", judge, spec={"resourceAttributes": wanted}) == status


def test_self_subject_access_review_of_a_path(judge: AuthContext) -> None:
    spec = {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}
    assert ask("SelfSubjectAccessReview", judge, spec=spec) == {"allowed": False}
    assert ask("SelfSubjectAccessReview", judge, ADMIN, spec=spec) == {"allowed": True}


def test_subject_access_review(judge: AuthContext) -> None:
    cases: list[tuple[JsonObject, bool]] = [
        ({"user": "bob"}, True),
        ({"user": "eve"}, False),
        ({"groups": ["system:masters"]}, True),
    ]
    for who, allowed in cases:
        status = ask("SubjectAccessReview", judge, ADMIN, spec={**who, "resourceAttributes": GET_VM})
        assert status["allowed"] is allowed


def test_local_subject_access_review(judge: AuthContext) -> None:
    spec = {"user": "bob", "resourceAttributes": GET_VM}
    status = ask("LocalSubjectAccessReview", judge, ADMIN, "prod", spec)
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
            id="nothing asked",
        ),
        pytest.param(
            "SelfSubjectAccessReview",
            {"resourceAttributes": GET_VM, "nonResourceAttributes": {"path": "/"}},
            422,
            "spec.nonResourceAttributes: Invalid value: null: "
            "cannot be specified in combination with resourceAttributes",
            id="two things asked",
        ),
        pytest.param(
            "SubjectAccessReview",
            {"resourceAttributes": GET_VM},
            422,
            'spec.user: Invalid value: "": at least one of user or group must be specified',
            id="about nobody",
        ),
        pytest.param(
            "LocalSubjectAccessReview",
            {"user": "bob", "nonResourceAttributes": {"path": "/"}},
            422,
            "spec.nonResourceAttributes: Invalid value: null: disallowed on this kind of request",
            id="a path in a namespace",
        ),
    ],
)
def test_invalid_access_review_is_rejected(
    judge: AuthContext, kind: str, spec: JsonObject, code: int, message: str
) -> None:
    assert_refused(code, f'{kind}.authorization.k8s.io "" is invalid: {message}', kind, judge, spec=spec)


def test_local_review_namespace_must_match(judge: AuthContext) -> None:
    spec = {"user": "bob", "resourceAttributes": GET_VM}
    head = 'LocalSubjectAccessReview.authorization.k8s.io "" is invalid'
    words = f'{head}: spec.resourceAttributes.namespace: Invalid value: "prod": must match metadata.namespace'
    assert_refused(422, words, "LocalSubjectAccessReview", judge, namespace="test", spec=spec)


def test_self_subject_rules_review(judge: AuthContext) -> None:
    assert ask("SelfSubjectRulesReview", judge, spec={"namespace": "prod"}) == {
        "incomplete": False,
        "resourceRules": [{"verbs": ["get"], "apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}],
    }
    assert ask("SelfSubjectRulesReview", judge, spec={"namespace": "test"}) == {
        "incomplete": False,
        "resourceRules": [],
        "nonResourceRules": [],
    }


def test_rules_review_of_master_and_viewer(judge: AuthContext) -> None:
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    assert ask("SelfSubjectRulesReview", judge, ADMIN, spec={"namespace": "x"})["resourceRules"] == [everything]
    viewer = build_binding("User/bob", "ClusterRole/view", "prod")
    authorizer = Authorizer([*build_roles(), *build_bindings(), viewer])
    status = ask("SelfSubjectRulesReview", judge._replace(authorizer=authorizer), spec={"namespace": "prod"})
    granted = {(rule["apiGroups"][0], resource) for rule in status["resourceRules"] for resource in rule["resources"]}
    assert {("kubevirt.io", "virtualmachines"), ("", "pods"), ("cdi.kubevirt.io", "datavolumes")} <= granted


def test_rules_review_requires_a_namespace(judge: AuthContext) -> None:
    assert_refused(400, "no namespace on request", "SelfSubjectRulesReview", judge, spec={})


def test_token_review_returns_the_user(judge: AuthContext) -> None:
    assert ask("TokenReview", judge, spec={"token": "t"}) == {
        "authenticated": True,
        "user": {"username": "eve", "groups": ["dev", "system:authenticated"]},
        "audiences": [ISSUER],
    }


@pytest.mark.parametrize(
    ("spec", "words"),
    [({"token": "x"}, "unknown token"), ({"token": "t", "audiences": ["vault"]}, "the token is valid for audiences")],
    ids=["unknown", "for others"],
)
def test_token_review_of_invalid_token(judge: AuthContext, spec: JsonObject, words: str) -> None:
    status = ask("TokenReview", judge, spec=spec)
    assert status.pop("error").startswith(words)
    assert status == {"user": {}}


def test_token_review_without_token_is_rejected(judge: AuthContext) -> None:
    words = "token is required for TokenReview in authentication"
    assert_refused(400, words, "TokenReview", judge, spec={"token": ""})


def test_self_subject_review(judge: AuthContext) -> None:
    user = User("bob", ("dev",), "u1", {"scopes": ("all",)})
    assert ask("SelfSubjectReview", judge, user) == {
        "userInfo": {"username": "bob", "groups": ["dev"], "uid": "u1", "extra": {"scopes": ["all"]}}
    }
