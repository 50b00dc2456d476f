"""
Admission entry points: default and validate an object by its kind, and reject it with all causes at once.

The API server calls `admit`. In a cluster, the mutating webhook calls `complete`, and the validating webhook calls
`validate`.
"""

from typing import Final

from virtshape.admission.checkresult import IN_USE, Evaluation, require_valid, split_violations
from virtshape.admission.clusterstate import (
    CONFIGURATION,
    Admitted,
    ClusterState,
    Steps,
    VMCount,
    read_configuration,
)
from virtshape.admission.datavolume import check_data_volume
from virtshape.admission.impossible import check_possible
from virtshape.admission.instancetype import check_object
from virtshape.admission.kubevirtobject import evaluate_configuration
from virtshape.admission.submission import Submission
from virtshape.admission.virtualmachine import complete_vm, evaluate_completed_vm, evaluate_vm
from virtshape.admission.vmi import complete_vmi, evaluate_completed_vmi, evaluate_vmi
from virtshape.api.cdi import DataVolume
from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.engine.lifecycle import check_lifecycle, read_lifecycle
from virtshape.resolve.find import preference_spec
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP
from virtshape.resolve.reference import Reference

_GROUPS: Final = frozenset({"kubevirt.io", "cdi.kubevirt.io", INSTANCETYPE_GROUP, FLAVOR_GROUP})


def has_rules(kind: Kind) -> bool:
    """Return True if admission has rules for the API group of this kind."""
    return kind.group in _GROUPS


def evaluate(submission: Submission, cluster: ClusterState, *, trusted: bool = False) -> Steps[Evaluation]:
    """Return the object to store, with defaults, and all its violations."""
    match submission.kind.group, submission.kind.kind:
        case "kubevirt.io", "VirtualMachine":
            return evaluate_vm(submission, cluster)
        case "kubevirt.io", "VirtualMachineInstance":
            return evaluate_vmi(submission, cluster, trusted=trusted)
        case _:
            return _evaluate_other(submission, cluster)


def admit(submission: Submission, cluster: ClusterState, *, trusted: bool = False) -> Steps[Admitted]:
    """Return the object to store, with defaults, and its warnings. Raise StatusError with one cause per error."""
    evaluation = yield from evaluate(submission, cluster, trusted=trusted)
    return Admitted(evaluation.tree, require_valid(evaluation.violations))


def complete(submission: Submission, cluster: ClusterState, *, trusted: bool = False) -> Steps[Admitted]:
    """Return the object with defaults, without validating it. Raise StatusError if the defaults cannot be set."""
    match submission.kind.group, submission.kind.kind:
        case "kubevirt.io", "VirtualMachine":
            return complete_vm(submission, cluster)
        case "kubevirt.io", "VirtualMachineInstance":
            return complete_vmi(submission, cluster, trusted=trusted)
        case _:
            return _accept(submission)


def validate(submission: Submission, cluster: ClusterState, *, trusted: bool = False) -> Steps[Admitted]:
    """
    Validate an object that already has its defaults.

    Return the object and its warnings, or raise StatusError with one cause per error.
    """
    match submission.kind.group, submission.kind.kind:
        case "kubevirt.io", "VirtualMachine":
            evaluation = yield from evaluate_completed_vm(submission, cluster)
        case "kubevirt.io", "VirtualMachineInstance":
            evaluation = yield from evaluate_completed_vmi(submission, cluster, trusted=trusted)
        case _:
            evaluation = yield from _evaluate_other(submission, cluster)
    return Admitted(evaluation.tree, require_valid(evaluation.violations))


def _accept(submission: Submission) -> Steps[Admitted]:
    yield from ()
    return Admitted(submission.new, [])


def _evaluate_other(submission: Submission, cluster: ClusterState) -> Steps[Evaluation]:
    """Return the object unchanged, because its kind has no defaults, and all its violations."""
    match submission.kind.group, submission.kind.kind:
        case "kubevirt.io", "KubeVirt":
            return evaluate_configuration(submission.new, submission.old, is_standalone=cluster.is_standalone)
        case "cdi.kubevirt.io", "DataVolume" if not submission.has_same_spec:
            volume: DataVolume = submission.read()
            return Evaluation(submission.new, list(check_data_volume(volume.spec, "spec")))
        case group, _ if group in (INSTANCETYPE_GROUP, FLAVOR_GROUP):
            return (yield from (_evaluate_metadata if submission.has_same_spec else _evaluate_sizing)(submission))
        case _:
            return Evaluation(submission.new, [])


def _evaluate_sizing(submission: Submission) -> Steps[Evaluation]:
    found = submission.read()
    violations = list(check_object(found))
    preference = preference_spec(found)
    if preference is not None and not split_violations(violations).causes:
        violations += check_possible(preference, read_configuration((yield CONFIGURATION)))
    if submission.old is not None and not split_violations(violations).causes:
        message = "VMs with a stored revision of it are not changed"
        violations += yield from _warn_of_users(submission, message)
    return Evaluation(submission.new, violations)


def _evaluate_metadata(submission: Submission) -> Steps[Evaluation]:
    """Return the violations of an update that changes only the metadata of an instance type, flavor or preference."""
    new, old = submission.read().metadata, submission.decode_old().metadata
    if (new.labels, new.annotations) == (old.labels, old.annotations):
        return Evaluation(submission.new, [])
    violations = check_lifecycle(submission.kind.kind, new)
    lifecycle = read_lifecycle(new)
    if not violations and lifecycle.state != "active" and lifecycle != read_lifecycle(old):
        message = _describe_kept(submission.kind, new.name or "", lifecycle.replacement or "NEW")
        violations += yield from _warn_of_users(submission, message)
    return Evaluation(submission.new, violations)


def _describe_kept(kind: Kind, name: str, replacement: str) -> str:
    kept = "VMs with a stored revision of it continue to use that revision"
    if kind.group == FLAVOR_GROUP:
        return kept
    prefix = f"{kind.singular}/" if kind.namespaced else ""  # without a prefix, virtctl uses a cluster-wide object
    new = replacement if "/" in replacement else f"{prefix}{replacement}"
    return f"{kept}; to move them: virtctl migrate-type {prefix}{name} {new}"


def _warn_of_users(submission: Submission, consequence: str) -> Steps[list[FieldError]]:
    kind, metadata = submission.kind, submission.new["metadata"]
    users: int = yield VMCount(
        Reference(kind.group, kind.kind, metadata.get("namespace") or "", metadata.get("name") or "")
    )
    if not users:
        return []
    refer = "1 VM refers" if users == 1 else f"{users} VMs refer"
    return [FieldError("spec", f"{refer} to this {kind.kind}: {consequence}", rule=IN_USE)]
