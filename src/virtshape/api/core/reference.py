"""Structs of references between core objects."""

from virtshape.api.model import Model


class ObjectReference(Model):
    """A reference to an object or a part of it."""

    name: str | None = None
    """The object's name."""
    api_version: str | None = None
    """The object's group and version."""
    field_path: str | None = None
    """Path of the referenced field."""
    kind: str | None = None
    """The object's kind."""
    namespace: str | None = None
    """The object's namespace."""
    resource_version: str | None = None
    """Version of the referenced object."""
    uid: str | None = None
    """The object's UID."""


class SecretReference(Model):
    """A reference to a secret in any namespace."""

    name: str | None = None
    """The secret's name."""
    namespace: str | None = None
    """The secret's namespace."""
