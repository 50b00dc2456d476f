"""Structs for references between core objects."""

from virtshape.api.model import Model


class ObjectReference(Model):
    """A reference to an object or a part of it."""

    name: str | None = None
    """Name of the referenced object."""
    api_version: str | None = None
    """The object's group and version."""
    field_path: str | None = None
    """Path of the referenced field."""
    kind: str | None = None
    """Kind of the referenced object."""
    namespace: str | None = None
    """Namespace of the referenced object."""
    resource_version: str | None = None
    """The object's resource version."""
    uid: str | None = None
    """UID of the referenced object."""


class SecretReference(Model):
    """A reference to a secret in any namespace."""

    name: str | None = None
    """Name of the secret."""
    namespace: str | None = None
    """Namespace of the secret."""
