"""
The authentication.k8s.io group at v1: who is asking.

Questions with their answers; never stored, and nothing here checks a token.
"""

from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model


class TokenReviewSpec(Model):
    """A token to check."""

    token: str
    """The token."""
    audiences: list[str] | None = None
    """For whom the token should be meant; one of them is enough."""


class UserInfo(Model):
    """Someone who makes requests."""

    extra: dict[str, list[str]] | None = None
    """What else the authenticator says."""
    groups: list[str] | None = None
    """The groups that the user belongs to."""
    uid: str | None = None
    """What tells users of the same name apart."""
    username: str | None = None
    """The user's name."""


class TokenReviewStatus(Model):
    """What is known about a token."""

    audiences: list[str] | None = None
    """Those of the asked audiences that the token is meant for."""
    authenticated: bool | None = None
    """Whether the token is good."""
    error: str | None = None
    """Why the token could not be checked."""
    user: UserInfo | None = None
    """Whom the token belongs to."""


class TokenReview(Model, kw_only=True):
    """Asks whom a token belongs to."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`TokenReview`."""
    metadata: ObjectMeta | None = None
    """The object's name, labels and the like."""
    spec: TokenReviewSpec
    """The token."""
    status: TokenReviewStatus | None = None
    """The answer."""


class SelfSubjectReviewStatus(Model):
    """Who is asking."""

    user_info: UserInfo | None = None
    """The one who asks."""


class SelfSubjectReview(Model, kw_only=True):
    """Asks who is asking."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`SelfSubjectReview`."""
    metadata: ObjectMeta | None = None
    """The object's name, labels and the like."""
    status: SelfSubjectReviewStatus | None = None
    """The answer."""
