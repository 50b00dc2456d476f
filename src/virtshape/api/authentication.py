"""Structs of authentication.k8s.io/v1: token and self-subject reviews, which are never stored."""

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Model


class TokenReviewSpec(Model):
    """A token to check."""

    token: str
    """The token."""
    audiences: list[str] | None = None
    """Accepted audiences of the token; one of them is enough."""


class UserInfo(Model):
    """A user."""

    extra: dict[str, list[str]] | None = None
    """Additional information from the authenticator."""
    groups: list[str] | None = None
    """The groups that the user belongs to."""
    uid: str | None = None
    """Unique identifier of the user."""
    username: str | None = None
    """The user's name."""


class TokenReviewStatus(Model):
    """Result of the authentication of a token."""

    audiences: list[str] | None = None
    """The requested audiences for which the token is valid."""
    authenticated: bool | None = None
    """Whether the token is valid."""
    error: str | None = None
    """Why the token could not be checked."""
    user: UserInfo | None = None
    """The user of the token."""


class TokenReview(KubernetesObject, kw_only=True):
    """A request to authenticate a token."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`TokenReview`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: TokenReviewSpec
    """The token."""
    status: TokenReviewStatus | None = None
    """Result of the review."""


class SelfSubjectReviewStatus(Model):
    """The current user."""

    user_info: UserInfo | None = None
    """The current user."""


class SelfSubjectReview(KubernetesObject, kw_only=True):
    """A request for the identity of the current user."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`SelfSubjectReview`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    status: SelfSubjectReviewStatus | None = None
    """Result of the review."""
