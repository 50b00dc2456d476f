"""Structs of authentication.k8s.io/v1: token and self-subject reviews, which are never stored."""

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Model


class TokenReviewSpec(Model):
    """A token to check."""

    token: str
    """The bearer token to check."""
    audiences: list[str] | None = None
    """Audiences that the token may be intended for; it must be valid for at least one of them."""


class UserInfo(Model):
    """The name, UID and groups of a user."""

    extra: dict[str, list[str]] | None = None
    """Additional information from the authenticator."""
    groups: list[str] | None = None
    """The groups that the user belongs to."""
    uid: str | None = None
    """Unique identifier of the user."""
    username: str | None = None
    """Name that identifies the user."""


class TokenReviewStatus(Model):
    """Result of a token review."""

    audiences: list[str] | None = None
    """The requested audiences for which the token is valid."""
    authenticated: bool | None = None
    """Whether the token is valid."""
    error: str | None = None
    """Why the token could not be checked."""
    user: UserInfo | None = None
    """The user that the token belongs to."""


class TokenReview(KubernetesObject, kw_only=True):
    """A request to authenticate a token."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `TokenReview`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: TokenReviewSpec
    """The token to check."""
    status: TokenReviewStatus | None = None
    """Result of the review."""


class SelfSubjectReviewStatus(Model):
    """Result of a self-subject review."""

    user_info: UserInfo | None = None
    """Name, UID and groups of the current user."""


class SelfSubjectReview(KubernetesObject, kw_only=True):
    """A request for the identity of the current user."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `SelfSubjectReview`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    status: SelfSubjectReviewStatus | None = None
    """Result of the review."""
