"""
Admission entry points: default and validate an object by its kind, and reject it with all causes at once.

The API server admits; the mutating webhook completes, and the validating webhook validates the completed object.
"""

from typing import Final

from virtshape.admission.clusterstate import Admitted, ClusterState, Steps, VMCount
from virtshape.admission.configuration import admit_configuration
from virtshape.admission.datavolume import check_data_volume
from virtshape.admission.instance import admit_vmi, complete_vmi, validate_vmi
from virtshape.admission.machine import admit_vm, complete_vm, refuse, validate_vm
from virtshape.admission.sizing import check_sizing
from virtshape.admission.submission import Submission
from virtshape.admission.violation import split_violations
from virtshape.api.cdi import DataVolume
from virtshape.api.kinds import Kind
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP
from virtshape.resolve.reference import Reference

_GROUPS: Final = frozenset({"kubevirt.io", "cdi.kubevirt.io", INSTANCETYPE_GROUP, FLAVOR_GROUP})


def has_rules(kind: Kind) -> bool:
    """Return True if admission has rules for this kind."""
    return kind.group in _GROUPS


def admit(submission: Submission, cluster: ClusterState, *, trusted: bool = False) -> Steps[Admitted]:
    """Return the object to store, with defaults. Raise StatusError with one cause per violation."""
    match submission.kind.group, submission.kind.kind:
        case "kubevirt.io", "VirtualMachine":
            return admit_vm(submission, cluster)
        case "kubevirt.io", "VirtualMachineInstance":
            return admit_vmi(submission, cluster, trusted=trusted)
        case _:
            return _validate_other(submission)


def complete(submission: Submission, cluster: ClusterState, *, trusted: bool = False) -> Steps[Admitted]:
    """Return the object with the defaults that admission adds, without validating it."""
    match submission.kind.group, submission.kind.kind:
        case "kubevirt.io", "VirtualMachine":
            return complete_vm(submission, cluster)
        case "kubevirt.io", "VirtualMachineInstance":
            return complete_vmi(submission, cluster, trusted=trusted)
        case _:
            return _accept(submission)


def validate(submission: Submission, cluster: ClusterState, *, trusted: bool = False) -> Steps[Admitted]:
    """Return the object, which has its defaults already, unchanged. Raise StatusError with one cause per violation."""
    match submission.kind.group, submission.kind.kind:
        case "kubevirt.io", "VirtualMachine":
            return validate_vm(submission, cluster)
        case "kubevirt.io", "VirtualMachineInstance":
            return validate_vmi(submission, cluster, trusted=trusted)
        case _:
            return _validate_other(submission)


def _accept(submission: Submission) -> Steps[Admitted]:
    yield from ()
    return Admitted(submission.new, [])


def _validate_other(submission: Submission) -> Steps[Admitted]:
    """Validate an object of a kind that gets no defaults."""
    match submission.kind.group, submission.kind.kind:
        case "kubevirt.io", "KubeVirt":
            return admit_configuration(submission.new, submission.old)
        case "cdi.kubevirt.io", "DataVolume":
            return _validate_data_volume(submission)
        case group, _ if group in (INSTANCETYPE_GROUP, FLAVOR_GROUP):
            return (yield from _validate_sizing(submission))
        case _:
            return Admitted(submission.new, [])


def _validate_data_volume(submission: Submission) -> Admitted:
    if submission.has_same_spec:
        return Admitted(submission.new, [])
    volume: DataVolume = submission.read()
    result = split_violations(check_data_volume(volume.spec, "spec"))
    if result.causes:
        refuse(result.causes, result.warnings)
    return Admitted(submission.new, result.warnings)


def _validate_sizing(submission: Submission) -> Steps[Admitted]:
    if submission.has_same_spec:
        return Admitted(submission.new, [])
    result = split_violations(check_sizing(submission.read()))
    if result.causes:
        refuse(result.causes, result.warnings)
    users = (yield from _warn_of_users(submission)) if submission.old is not None else []
    return Admitted(submission.new, result.warnings + users)


def _warn_of_users(submission: Submission) -> Steps[list[str]]:
    kind, metadata = submission.kind, submission.new["metadata"]
    users: int = yield VMCount(
        Reference(kind.group, kind.kind, metadata.get("namespace") or "", metadata.get("name") or "")
    )
    if not users:
        return []
    refer = "1 VM refers" if users == 1 else f"{users} VMs refer"
    return [f"{refer} to this {kind.kind}: VMs with a stored revision of it are not changed"]
