"""
Upgrade of ControllerRevisions: copies with the same content in a newer API version.

The functions are pure.
"""

from typing import Any, Final

from msgspec.structs import replace

from virtshape.api.apps import ControllerRevision
from virtshape.api.conversion import drop_zero_sizes, read_payload_version, read_revision_payload
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.wellknown import OBJECT_NAME_LABEL
from virtshape.controllers.vm.revisionobjects import OBJECT_LABEL, VERSION_LABEL, build_revision, name_revision
from virtshape.engine.customize import states_size
from virtshape.resolve.matcher import INSTANCETYPE_GROUP, Matcher, Role, full_kind
from virtshape.resolve.revisions import UPGRADED_FROM_ANNOTATION

STORED_VERSION: Final = "v1beta2"
KUBEVIRT_VERSION: Final = "v1beta1"
"""The newest version of a payload that KubeVirt's own clients can read."""


def needs_upgrade(revision: ControllerRevision, *, in_spec: bool = True) -> bool:
    """
    Return True if the payload has no API version or kind, or an API version that is older than the storage version.

    If revision names are only in the status, KubeVirt's rule applies: v1beta1 needs no upgrade, but a version label is
    required.
    """
    data = revision.data
    api_version = data.get("apiVersion") if isinstance(data, dict) else None
    if not isinstance(api_version, str) or not isinstance(data.get("kind"), str):
        return True
    group, _, version = api_version.partition("/")
    if group != INSTANCETYPE_GROUP:
        return False
    if in_spec:
        return version != STORED_VERSION
    return version not in (KUBEVIRT_VERSION, STORED_VERSION) or VERSION_LABEL not in (revision.metadata.labels or {})


def build_upgrade(
    vm: VirtualMachine, old: ControllerRevision, matcher: Matcher, role: Role, *, in_spec: bool = True
) -> ControllerRevision:
    """Build a revision with the same content in a newer version, under a new name."""
    read: Any = read_revision_payload(old.data, full_kind(matcher, role))
    source = replace(read, metadata=_recover_metadata(read.metadata, old, matcher))
    is_readable = not in_spec and read_payload_version(old.data, source.kind) != source.api_version
    if isinstance(source.spec, VirtualMachineInstancetypeSpec):
        source = replace(source, spec=drop_zero_sizes(source.spec))
        is_readable = is_readable and states_size(source.spec)
    if is_readable:
        source = replace(source, api_version=f"{INSTANCETYPE_GROUP}/{KUBEVIRT_VERSION}")
    version = source.api_version.rpartition("/")[2]
    vm_name = vm.metadata.name or ""
    upgraded = build_revision(vm, source, name_revision(vm_name, source, version))
    upgraded.metadata.annotations = {UPGRADED_FROM_ANNOTATION: old.metadata.name or ""}
    return upgraded


def _recover_metadata(metadata: ObjectMeta, old: ControllerRevision, matcher: Matcher) -> ObjectMeta:
    """Return the metadata with a missing name, UID or generation set from the revision's labels or to a fallback."""
    own = old.metadata
    labels = own.labels or {}
    stated = labels.get(f"{OBJECT_LABEL}generation", "")
    return replace(
        metadata,
        name=metadata.name or labels.get(OBJECT_NAME_LABEL) or matcher.name,
        uid=metadata.uid or labels.get(f"{OBJECT_LABEL}uid") or own.uid,
        generation=metadata.generation or (int(stated) if stated.isdecimal() and int(stated) else 1),
    )
