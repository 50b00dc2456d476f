"""Delegated authorization: decisions are cached for the exact user and request."""

from typing import Any

import pytest

from virtshape.api.authorization import SubjectAccessReview, SubjectAccessReviewStatus
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.authorization import Attributes
from virtshape.cluster.delegation import DelegatedAuthorizer

WANTED = Attributes("create", "cdi.kubevirt.io", "datavolumes", "source", "prod")
SCOPED = User("bob", ("dev",), "u1", {"scopes.example.com": ("full",)})
OTHERS = {
    "no extra": SCOPED._replace(extra={}),
    "another extra value": SCOPED._replace(extra={"scopes.example.com": ("read",)}),
    "another extra key": SCOPED._replace(extra={"other.example.com": ("full",)}),
    "another uid": SCOPED._replace(uid="u2"),
    "other groups": SCOPED._replace(groups=("dev", "guests")),
}


class ApiServer:
    """An API server whose authorizer permits only a user with exactly these attributes."""

    def __init__(self) -> None:
        self.asked = 0

    async def create(self, review: SubjectAccessReview) -> SubjectAccessReview:
        self.asked += 1
        spec = review.spec
        described = spec.user, spec.groups, spec.uid, spec.extra
        review.status = SubjectAccessReviewStatus(
            allowed=described == ("bob", ["dev"], "u1", {"scopes.example.com": ["full"]})
        )
        return review


async def authorize(*users: User) -> tuple[list[bool], int]:
    server: Any = ApiServer()
    authorizer = DelegatedAuthorizer(server)
    allowed = [(await authorizer.authorize(user, WANTED)).allowed for user in users]
    return allowed, server.asked


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
async def test_cached_authorization_decision_is_not_used_for_another_user(other: User) -> None:
    assert await authorize(SCOPED, other) == ([True, False], 2)


async def test_cached_authorization_decision_is_used_for_the_same_user() -> None:
    assert await authorize(SCOPED, SCOPED._replace(extra=dict(SCOPED.extra))) == ([True, True], 1)
