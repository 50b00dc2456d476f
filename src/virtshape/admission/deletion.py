"""Warn about the deletion of ControllerRevisions that VMs use, for the API server and the webhook."""

from virtshape.admission.clusterstate import Steps
from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import from_tree
from virtshape.api.kinds import Kind
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.ownerreferences import find_controller, is_controlled_by
from virtshape.api.wellknown import OBJECT_NAME_LABEL
from virtshape.resolve.matcher import KINDS, find_matcher, find_status_ref
from virtshape.resolve.reference import Reference


def may_be_in_use(kind: Kind, old: JsonObject) -> bool:
    """Return True if the object is a revision of an instance type, preference or flavor."""
    is_revision = (kind.group, kind.kind) == ("apps", "ControllerRevision")
    return is_revision and OBJECT_NAME_LABEL in (old["metadata"].get("labels") or {})


def search_deletion_warnings(old: JsonObject) -> Steps[list[str]]:
    """Return a warning if the VM that owns this revision names it and is not being deleted."""
    revision: ControllerRevision = from_tree({**old, "data": None}, ControllerRevision)
    metadata = revision.metadata
    owner = find_controller(metadata)
    if owner is None or owner.kind != "VirtualMachine":
        return []
    vm = yield Reference("kubevirt.io", "VirtualMachine", metadata.namespace or "", owner.name)
    if not isinstance(vm, VirtualMachine) or not is_controlled_by(metadata, vm):
        return []
    if vm.metadata.deletion_timestamp is not None or metadata.name not in _list_revisions(vm):
        return []
    name, namespace = vm.metadata.name, vm.metadata.namespace
    warning = (
        f"ControllerRevision {metadata.name} is in use: VirtualMachine {name} cannot start without it; "
        f"to use the current objects instead, run: virtctl upgrade {name} -n {namespace}"
    )
    return [warning]


def _list_revisions(vm: VirtualMachine) -> set[str]:
    """Return the names of all revisions in the VM's spec and status."""
    names: set[str] = set()
    for role in KINDS:
        matcher, ref = find_matcher(vm, role), find_status_ref(vm, role)
        captured = ref.controller_revision_ref if ref is not None and matcher is not None else None
        names.update(name for name in (matcher and matcher.revision_name, captured and captured.name) if name)
    return names
