"""Structs of references between core objects."""

from virtshape.api.model import Model


class ObjectReference(Model):
    """Points at an object, or at a part of one."""

    name: str | None = None
    """The object's name."""
    api_version: str | None = None
    """The object's group and version."""
    field_path: str | None = None
    """The part of the object that is meant."""
    kind: str | None = None
    """The object's kind."""
    namespace: str | None = None
    """The object's namespace."""
    resource_version: str | None = None
    """The version of the object that is meant."""
    uid: str | None = None
    """The object's UID."""


class SecretReference(Model):
    """Points at a secret of any namespace."""

    name: str | None = None
    """The secret's name."""
    namespace: str | None = None
    """The secret's namespace."""
