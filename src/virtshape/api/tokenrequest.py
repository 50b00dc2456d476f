"""Structs of authentication.k8s.io/v1: requests for tokens of service accounts, which are never stored."""

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Model, Time


class BoundObjectReference(Model):
    """The object that a token is bound to."""

    api_version: str | None = None
    """The object's group and version."""
    kind: str | None = None
    """The object's kind: `Pod`, `Secret` or `Node`."""
    name: str | None = None
    """The object's name, in the namespace of the service account."""
    uid: str | None = None
    """The object's UID; any UID if absent."""


class TokenRequestSpec(Model):
    """Audiences, lifetime and bound object of the token."""

    audiences: list[str] | None = None
    """Intended audiences of the token; the API server if absent."""
    expiration_seconds: int | None = None
    """Requested lifetime in seconds; one hour if absent."""
    bound_object_ref: BoundObjectReference | None = None
    """The object that the token is bound to."""


class TokenRequestStatus(Model):
    """The issued token and its expiry."""

    token: str
    """The issued bearer token."""
    expiration_timestamp: Time
    """When the token expires."""


class TokenRequest(KubernetesObject, kw_only=True):
    """A request for a token that authenticates a service account."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `TokenRequest`."""
    metadata: Metadata = NO_METADATA
    """The name and namespace of the service account."""
    spec: TokenRequestSpec
    """Audiences, lifetime and bound object of the token."""
    status: TokenRequestStatus | None = None
    """The issued token and its expiry."""
