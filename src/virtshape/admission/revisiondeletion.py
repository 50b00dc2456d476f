"""Warn about the deletion of ControllerRevisions that VMs use, for the API server and the webhook."""

from typing import Final

from virtshape.admission.clusterstate import Steps
from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import from_tree
from virtshape.api.kinds import Kind
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.wellknown import OBJECT_NAME_LABEL
from virtshape.resolve.matcher import KINDS, find_matcher, find_status_ref
from virtshape.resolve.reference import Reference

MAX_LISTED: Final = 3
"""Maximum number of VMs that a warning lists, because Kubernetes may truncate a warning to 256 characters."""
MAX_CHECKED: Final = 50
"""Maximum number of owners of a shared revision to check; the other owners are assumed to use the revision."""


def may_be_in_use(kind: Kind, old: JsonObject) -> bool:
    """Return True if the object is a revision of an instance type, preference or flavor."""
    is_revision = (kind.group, kind.kind) == ("apps", "ControllerRevision")
    return is_revision and OBJECT_NAME_LABEL in (old["metadata"].get("labels") or {})


def search_deletion_warnings(old: JsonObject) -> Steps[list[str]]:
    """Return a warning if the revision is used by VMs that own it and are not being deleted."""
    revision: ControllerRevision = from_tree({**old, "data": None}, ControllerRevision)
    metadata = revision.metadata
    owners = [owner for owner in metadata.owner_references or () if owner.kind == "VirtualMachine"]
    users: list[str] = []
    further = len(owners)
    for owner in owners[:MAX_CHECKED]:
        further -= 1
        vm = yield Reference("kubevirt.io", "VirtualMachine", metadata.namespace or "", owner.name)
        if isinstance(vm, VirtualMachine) and vm.metadata.uid == owner.uid and _uses(vm, metadata.name or ""):
            users.append(owner.name)
        if len(users) == MAX_LISTED:
            break
    if not users:
        return []
    command = f"virtctl upgrade {' '.join(users)}{' ...' if further else ''} -n {metadata.namespace}"
    warning = (
        f"ControllerRevision {metadata.name} is in use: {_list_names(users, further)} cannot start without it; "
        f"to use the current objects instead, run: {command}"
    )
    return [warning]


def _uses(vm: VirtualMachine, revision: str) -> bool:
    return vm.metadata.deletion_timestamp is None and revision in _list_revisions(vm)


def _list_names(users: list[str], further: int) -> str:
    if len(users) == 1 and not further:
        return f"VirtualMachine {users[0]}"
    names = [*users, *([f"{further} more"] if further else [])]
    return f"VirtualMachines {', '.join(names[:-1])} and {names[-1]}"


def _list_revisions(vm: VirtualMachine) -> set[str]:
    """Return the names of all revisions that the VM's spec and status refer to."""
    names: set[str] = set()
    for role in KINDS:
        matcher, ref = find_matcher(vm, role), find_status_ref(vm, role)
        captured = ref.controller_revision_ref if ref is not None and matcher is not None else None
        names.update(name for name in (matcher and matcher.revision_name, captured and captured.name) if name)
    return names
