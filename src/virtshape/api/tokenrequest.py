"""
TokenRequest of authentication.k8s.io at v1: asks for a token of a service account.

A question with its answer, through the account's subresource `token`; never stored, and nothing here issues tokens.
"""

from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model, Time


class BoundObjectReference(Model):
    """An object that a token lives no longer than."""

    api_version: str | None = None
    """The object's group and version."""
    kind: str | None = None
    """The object's kind: `Pod`, `Secret` or `Node`."""
    name: str | None = None
    """The object's name, in the namespace of the service account."""
    uid: str | None = None
    """The object's UID; whatever it is, if absent."""


class TokenRequestSpec(Model):
    """What the token should be good for."""

    audiences: list[str] | None = None
    """For whom the token is meant; the API server, if absent."""
    expiration_seconds: int | None = None
    """How long the token should be good, in seconds; an hour, if absent."""
    bound_object_ref: BoundObjectReference | None = None
    """The object that the token lives no longer than."""


class TokenRequestStatus(Model):
    """The token."""

    token: str
    """The token."""
    expiration_timestamp: Time
    """When the token ends."""


class TokenRequest(Model, kw_only=True):
    """Asks for a token of a service account."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`TokenRequest`."""
    metadata: ObjectMeta | None = None
    """The name and namespace of the service account."""
    spec: TokenRequestSpec
    """What the token should be good for."""
    status: TokenRequestStatus | None = None
    """The answer."""
