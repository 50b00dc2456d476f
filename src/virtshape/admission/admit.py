"""
Admission entry points: default and validate an object by its kind, and reject it with all causes at once.

The API server admits; the mutating webhook completes, and the validating webhook validates the completed object.
"""

from typing import Final

from virtshape.admission.checkresult import IN_USE, Judgement, require_valid, split_violations
from virtshape.admission.clusterstate import Admitted, ClusterState, Steps, VMCount
from virtshape.admission.configuration import judge_configuration
from virtshape.admission.datavolume import check_data_volume
from virtshape.admission.instance import complete_vmi, judge_completed_vmi, judge_vmi
from virtshape.admission.sizing import check_sizing
from virtshape.admission.submission import Submission
from virtshape.admission.virtualmachine import complete_vm, judge_completed_vm, judge_vm
from virtshape.api.cdi import DataVolume
from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP
from virtshape.resolve.reference import Reference

_GROUPS: Final = frozenset({"kubevirt.io", "cdi.kubevirt.io", INSTANCETYPE_GROUP, FLAVOR_GROUP})


def has_rules(kind: Kind) -> bool:
    """Return True if admission has rules for this kind."""
    return kind.group in _GROUPS


def judge(submission: Submission, cluster: ClusterState, *, trusted: bool = False) -> Steps[Judgement]:
    """Return the object to store, with defaults, and all its violations: the one judge for all callers."""
    match submission.kind.group, submission.kind.kind:
        case "kubevirt.io", "VirtualMachine":
            return judge_vm(submission, cluster)
        case "kubevirt.io", "VirtualMachineInstance":
            return judge_vmi(submission, cluster, trusted=trusted)
        case _:
            return _judge_other(submission)


def admit(submission: Submission, cluster: ClusterState, *, trusted: bool = False) -> Steps[Admitted]:
    """Return the object to store, with defaults. Raise StatusError with one cause per violation."""
    judgement = yield from judge(submission, cluster, trusted=trusted)
    return Admitted(judgement.tree, require_valid(judgement.violations))


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
            judgement = yield from judge_completed_vm(submission, cluster)
        case "kubevirt.io", "VirtualMachineInstance":
            judgement = yield from judge_completed_vmi(submission, cluster, trusted=trusted)
        case _:
            judgement = yield from _judge_other(submission)
    return Admitted(judgement.tree, require_valid(judgement.violations))


def _accept(submission: Submission) -> Steps[Admitted]:
    yield from ()
    return Admitted(submission.new, [])


def _judge_other(submission: Submission) -> Steps[Judgement]:
    """Judge an object of a kind that gets no defaults."""
    match submission.kind.group, submission.kind.kind:
        case "kubevirt.io", "KubeVirt":
            return judge_configuration(submission.new, submission.old)
        case "cdi.kubevirt.io", "DataVolume" if not submission.has_same_spec:
            volume: DataVolume = submission.read()
            return Judgement(submission.new, list(check_data_volume(volume.spec, "spec")))
        case group, _ if group in (INSTANCETYPE_GROUP, FLAVOR_GROUP) and not submission.has_same_spec:
            return (yield from _judge_sizing(submission))
        case _:
            return Judgement(submission.new, [])


def _judge_sizing(submission: Submission) -> Steps[Judgement]:
    violations = list(check_sizing(submission.read()))
    if submission.old is not None and not split_violations(violations).causes:
        violations += yield from _warn_of_users(submission)
    return Judgement(submission.new, violations)


def _warn_of_users(submission: Submission) -> Steps[list[FieldError]]:
    kind, metadata = submission.kind, submission.new["metadata"]
    users: int = yield VMCount(
        Reference(kind.group, kind.kind, metadata.get("namespace") or "", metadata.get("name") or "")
    )
    if not users:
        return []
    refer = "1 VM refers" if users == 1 else f"{users} VMs refer"
    message = f"{refer} to this {kind.kind}: VMs with a stored revision of it are not changed"
    return [FieldError("spec", message, rule=IN_USE)]
