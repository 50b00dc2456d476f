"""
ControllerRevisions that several VMs of a namespace own together: their names, contents and owner references.

The VMs of a namespace that use the same generation of an object share a revision until it has MAX_OWNERS owners; then
they share a second one, and so on. The functions are pure.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import to_tree
from virtshape.api.conversion import PayloadError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.ownerreferences import make_shared_owner_reference
from virtshape.api.wellknown import SHARED_REVISION_LABEL
from virtshape.controllers.vm.revisionobjects import (
    VERSION_LABEL,
    Source,
    build_revision,
    has_same_content,
    label_revision,
)

MAX_OWNERS: Final = 100
"""Maximum number of owners of a revision: each owner adds 200 bytes, and adding one rewrites the whole object."""
BY_OWNER: Final = "owner"
"""Index of shared revisions by the UIDs of their owners."""


def shares_revisions(configuration: KubeVirtConfiguration | None) -> bool:
    """Return True if the VMs of a namespace share revisions."""
    settings = configuration.instancetype if configuration else None
    return settings is not None and settings.revision_sharing == "Namespace"


def is_shared(revision: ControllerRevision) -> bool:
    """Return True if the revision is owned by all VMs that use it."""
    return (revision.metadata.labels or {}).get(SHARED_REVISION_LABEL) == "true"


def list_owner_uids(revision: ControllerRevision) -> Iterable[str]:
    """Return the UIDs of the owners of a shared revision; none for other revisions."""
    return [owner.uid for owner in revision.metadata.owner_references or ()] if is_shared(revision) else ()


def name_shared_revision(source: Source, number: int = 1) -> str:
    """
    Return the name of shared revision `number` of an object; numbers start at 1.

    Names of objects are also values of labels and have at most 63 characters, so the result is not too long.
    """
    metadata = source.metadata
    first = f"{metadata.name}-{metadata.uid}-{metadata.generation or 0}"
    return first if number == 1 else f"{first}-{number}"


def is_name_of_shared_revision(name: str, source: Source) -> bool:
    """Return True if this is the name of a shared revision of the object in its current generation."""
    first = name_shared_revision(source)
    rest = name.removeprefix(f"{first}-")
    return name == first or (rest != name and rest.isdecimal() and int(rest) > 1)


def build_shared_revision(owners: Sequence[VirtualMachine], source: Source, name: str) -> ControllerRevision:
    """Build a shared revision of an object, with these VMs of one namespace as owners."""
    revision = build_revision(owners[0], source, name)
    revision.metadata.labels = {**label_revision(source), SHARED_REVISION_LABEL: "true"}
    revision.metadata.owner_references = [make_shared_owner_reference(vm) for vm in owners]
    return revision


def is_shared_copy(revision: ControllerRevision, source: Source) -> bool:
    """
    Return True if the revision is a shared copy of the object in its current generation.

    Users may create revisions under any name, so labels and content are compared with the object.
    """
    labels = revision.metadata.labels or {}
    expected = {key: value for key, value in label_revision(source).items() if key != VERSION_LABEL}
    if not is_shared(revision) or any(labels.get(key) != value for key, value in expected.items()):
        return False
    try:
        return has_same_content(revision, replace(revision, data=to_tree(source)), source.kind)
    except PayloadError:
        return False


def drop_owners(revision: ControllerRevision) -> ControllerRevision:
    """Return the revision without its owners and managedFields, which use most of a shared revision's memory."""
    return replace(revision, metadata=replace(revision.metadata, owner_references=None, managed_fields=None))


def write_new_owners(uid: str, owners: Iterable[VirtualMachine]) -> JsonObject:
    """Return the strategic merge patch that adds owners to the revision with this UID."""
    return {"metadata": {"uid": uid, "ownerReferences": [to_tree(make_shared_owner_reference(vm)) for vm in owners]}}


def write_former_owners(revision: ControllerRevision, owners: Iterable[str]) -> JsonObject:
    """Return the strategic merge patch that removes the owners with these UIDs if the revision has not changed."""
    metadata = revision.metadata
    removed = [{"$patch": "delete", "uid": uid} for uid in owners]
    return {"metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version, "ownerReferences": removed}}
