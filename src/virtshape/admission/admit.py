"""Admission entry points: default and validate an object by its kind, and reject it with all causes at once."""

from typing import Any, Final

from virtshape.admission.clusterstate import Admitted, ClusterState
from virtshape.admission.configuration import admit_configuration
from virtshape.admission.datavolume import check_data_volume
from virtshape.admission.instance import admit_vmi, complete_vmi
from virtshape.admission.machine import admit_vm, complete_vm, refuse
from virtshape.admission.sizing import check_sizing
from virtshape.admission.violation import split_violations
from virtshape.api.cdi import DataVolume
from virtshape.api.codec import from_tree
from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP
from virtshape.resolve.reference import Reference

_GROUPS: Final = frozenset({"kubevirt.io", "cdi.kubevirt.io", INSTANCETYPE_GROUP, FLAVOR_GROUP})


def has_rules(kind: Kind) -> bool:
    """Return True if admission has rules for this kind."""
    return kind.group in _GROUPS


def admit(
    kind: Kind, new: JsonObject, old: JsonObject | None, cluster: ClusterState, *, trusted: bool = False
) -> Admitted:
    """Return the object to store; `old` is the object it replaces. Raise StatusError with one cause per violation."""
    match kind.group, kind.kind:
        case "kubevirt.io", "VirtualMachine":
            return admit_vm(new, old, cluster)
        case "kubevirt.io", "VirtualMachineInstance":
            return admit_vmi(new, old, cluster, trusted=trusted)
        case "kubevirt.io", "KubeVirt":
            return admit_configuration(new, old)
        case "cdi.kubevirt.io", "DataVolume":
            return _admit_data_volume(new, old)
        case group, _ if group in (INSTANCETYPE_GROUP, FLAVOR_GROUP):
            return _admit_sizing(kind, new, old, cluster)
        case _:
            return Admitted(new, [])


def complete(
    kind: Kind, new: JsonObject, old: JsonObject | None, cluster: ClusterState, *, trusted: bool = False
) -> Admitted:
    """Return the object with the defaults that admission adds, without validating it."""
    match kind.group, kind.kind:
        case "kubevirt.io", "VirtualMachine":
            return complete_vm(new, old, cluster)
        case "kubevirt.io", "VirtualMachineInstance":
            return complete_vmi(new, old, cluster, trusted=trusted)
        case _:
            return Admitted(new, [])


def _admit_data_volume(new: JsonObject, old: JsonObject | None) -> Admitted:
    if old is not None and new.get("spec") == old.get("spec"):
        return Admitted(new, [])
    result = split_violations(check_data_volume(from_tree(new, DataVolume).spec, "spec"))
    if result.causes:
        refuse(result.causes, result.warnings)
    return Admitted(new, result.warnings)


def _admit_sizing(kind: Kind, new: JsonObject, old: JsonObject | None, cluster: ClusterState) -> Admitted:
    if old is not None and new.get("spec") == old.get("spec"):
        return Admitted(new, [])
    found: Any = from_tree(new, kind.struct)
    result = split_violations(check_sizing(found))
    if result.causes:
        refuse(result.causes, result.warnings)
    return Admitted(new, result.warnings + (_warn_of_users(kind, new, cluster) if old is not None else []))


def _warn_of_users(kind: Kind, new: JsonObject, cluster: ClusterState) -> list[str]:
    metadata = new["metadata"]
    users = cluster.count_machines(
        Reference(kind.group, kind.kind, metadata.get("namespace") or "", metadata.get("name") or "")
    )
    if not users:
        return []
    refer = "1 VM refers" if users == 1 else f"{users} VMs refer"
    return [f"{refer} to this {kind.kind}: VMs with a stored revision of it are not changed"]
