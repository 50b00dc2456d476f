"""Make, find and compare owner references."""

from typing import Protocol

from msgspec.structs import replace

from virtshape.api.meta import ObjectMeta, OwnerReference


class Object(Protocol):
    """An object with apiVersion, kind and metadata."""

    api_version: str
    kind: str
    metadata: ObjectMeta


def make_owner_reference(owner: Object) -> OwnerReference:
    """Return a controller reference that blocks the owner's foreground deletion."""
    return replace(make_shared_owner_reference(owner), controller=True, block_owner_deletion=True)


def make_shared_owner_reference(owner: Object) -> OwnerReference:
    """Return a reference to one of several owners, none of which manages the object."""
    metadata = owner.metadata
    return OwnerReference(
        name=metadata.name or "", api_version=owner.api_version, kind=owner.kind, uid=metadata.uid or ""
    )


def find_controller(metadata: ObjectMeta) -> OwnerReference | None:
    """Return the reference to the owner that manages the object, or None."""
    return next((owner for owner in metadata.owner_references or () if owner.controller), None)


def is_controlled_by(metadata: ObjectMeta, owner: Object) -> bool:
    """
    Return True if this owner manages the object.

    Users can write owner references, so kind, name and UID must match the owner, and a namespaced owner manages only
    objects in its namespace.
    """
    found, own = find_controller(metadata), owner.metadata
    if found is None or not own.uid:
        return False
    if own.namespace and metadata.namespace != own.namespace:
        return False
    return (found.uid, found.name, found.kind) == (own.uid, own.name, owner.kind)
