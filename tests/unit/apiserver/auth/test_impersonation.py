import pytest
from tests.support.rbac import ADMIN, BOB, build_binding, build_role, build_rule

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.authorization import Authorizer
from virtshape.apiserver.auth.impersonation import impersonate

Headers = dict[str, list[str]]
EVE: Headers = {"impersonate-user": ["eve"]}
EVERYONE = "system:authenticated"

TAKEN: dict[str, tuple[Headers, User]] = {
    "no impersonation": ({"accept": ["x"]}, ADMIN),
    "user": (EVE, User("eve", (EVERYONE,))),
    "with groups": (EVE | {"impersonate-group": ["dev", "ops"]}, User("eve", ("dev", "ops", EVERYONE))),
    "with all attributes": (
        EVE | {"impersonate-uid": ["u1"], "impersonate-extra-example.com%2fscope": ["a", "b"]},
        User("eve", (EVERYONE,), "u1", {"example.com/scope": ("a", "b")}),
    ),
    "service account": (
        {"impersonate-user": ["system:serviceaccount:prod:robot"]},
        User(
            "system:serviceaccount:prod:robot",
            ("system:serviceaccounts", "system:serviceaccounts:prod", EVERYONE),
        ),
    ),
}


@pytest.mark.parametrize(("headers", "user"), TAKEN.values(), ids=TAKEN.keys())
def test_impersonated_user_has_the_requested_attributes(headers: Headers, user: User) -> None:
    assert impersonate(ADMIN, headers, Authorizer()) == user


NEEDED: dict[str, tuple[JsonObject, Headers, str | None]] = {
    "user": (build_rule("impersonate", "users", ""), EVE, None),
    "one user": (build_rule("impersonate", "users", "", resourceNames=["eve"]), EVE, None),
    "another user": (build_rule("impersonate", "users", "", resourceNames=["joe"]), EVE, 'users "eve" is forbidden'),
    "group": (
        build_rule("impersonate", "users", ""),
        EVE | {"impersonate-group": ["system:masters"]},
        'groups "system:masters" is forbidden',
    ),
    "uid": (
        build_rule("impersonate", "users", ""),
        EVE | {"impersonate-uid": ["u1"]},
        'uids.authentication.k8s.io "u1" is forbidden',
    ),
    "extra": (
        build_rule("impersonate", "users", ""),
        EVE | {"impersonate-extra-scope": ["a"]},
        'userextras.authentication.k8s.io "a" is forbidden',
    ),
    "account": (
        build_rule("impersonate", "users", ""),
        {"impersonate-user": ["system:serviceaccount:prod:robot"]},
        'serviceaccounts "robot" is forbidden',
    ),
}


@pytest.mark.parametrize(("rule", "headers", "refusal"), NEEDED.values(), ids=NEEDED.keys())
def test_each_impersonated_attribute_needs_permission(rule: JsonObject, headers: Headers, refusal: str | None) -> None:
    authorizer = Authorizer([build_role(rule), build_binding("User/bob")])
    if refusal is None:
        impersonate(BOB, headers, authorizer)
        return
    with pytest.raises(StatusError) as error:
        impersonate(BOB, headers, authorizer)
    assert error.value.code == 403
    assert error.value.message.startswith(f'{refusal}: User "bob" cannot impersonate resource')


def test_impersonating_groups_without_a_user_is_rejected() -> None:
    with pytest.raises(StatusError) as error:
        impersonate(ADMIN, {"impersonate-group": ["dev"]}, Authorizer())
    assert error.value.code == 400
