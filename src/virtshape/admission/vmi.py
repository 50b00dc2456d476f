"""
Admission of VMIs: set defaults in new VMIs, and allow only the controllers to change the spec of existing VMIs.

Defaulting does not replace values that the VM controller has already set.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from virtshape.admission.checkresult import Evaluation, require_valid
from virtshape.admission.clusterstate import CONFIGURATION, Admitted, ClusterState, Steps, read_configuration
from virtshape.admission.persistentfields import PCI_TOPOLOGY, PCI_TOPOLOGY_ANNOTATION
from virtshape.admission.rules.clusterconfiguration import check_configured
from virtshape.admission.rules.vmi import check_guest, check_label_changes, check_labels
from virtshape.admission.submission import Submission
from virtshape.admission.trialexpansion import with_default_field
from virtshape.admission.writeback import overlay
from virtshape.api.codec import to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.model import JsonObject
from virtshape.api.wellknown import VMI_FINALIZER
from virtshape.engine.defaults import apply_defaults
from virtshape.engine.draft import Draft
from virtshape.engine.expand import Shape, shape_draft
from virtshape.engine.hostaccess import check_host_access
from virtshape.engine.machinetype import default_architecture
from virtshape.engine.memory import check_memory_given
from virtshape.engine.vmidefaults import apply_instance_defaults

_ROOT: Final = "spec"
_LABELS: Final = "metadata.labels"
_GUEST_USER: Final = 107
_RESTRICTED: Final = FieldError("", "update of VMI object is restricted", "FieldValueNotSupported")


def evaluate_vmi(submission: Submission, cluster: ClusterState, *, trusted: bool) -> Steps[Evaluation]:
    """Return the VMI to store and all its violations; `trusted` is True if a controller writes it."""
    new, old = submission.new, submission.old
    if old is not None:
        violations = [] if trusted else list(_check_changed(new, old))
        return Evaluation(_keep_status(new, old, trusted=trusted), violations)
    vmi: VirtualMachineInstance = submission.take()
    configuration = read_configuration((yield CONFIGURATION))
    given = to_tree(vmi)
    conflicts = _complete(vmi, configuration, cluster)
    violations = [*conflicts, *_check_new(vmi, configuration, cluster, trusted=trusted)]
    return Evaluation(_write(new, given, vmi, cluster, trusted=trusted), violations)


def complete_vmi(submission: Submission, cluster: ClusterState, *, trusted: bool) -> Steps[Admitted]:
    """Return the VMI with defaults, before other webhooks change it. Raise StatusError if defaults cannot be set."""
    new, old = submission.new, submission.old
    if old is not None:
        return Admitted(_keep_status(new, old, trusted=trusted), [])
    vmi: VirtualMachineInstance = submission.take()
    configuration = read_configuration((yield CONFIGURATION))
    given = to_tree(vmi)
    conflicts = _complete(vmi, configuration, cluster)
    if conflicts:
        require_valid([*conflicts, *_check_new(vmi, configuration, cluster, trusted=trusted)])
    return Admitted(_write(new, given, vmi, cluster, trusted=trusted), [])


def evaluate_completed_vmi(submission: Submission, cluster: ClusterState, *, trusted: bool) -> Steps[Evaluation]:
    """Check a VMI whose defaults are set; return it unchanged, with all its violations."""
    new, old = submission.new, submission.old
    if old is not None:
        return Evaluation(new, [] if trusted else list(_check_changed(new, old)))
    vmi: VirtualMachineInstance = submission.take()
    configuration = read_configuration((yield CONFIGURATION))
    no_memory = check_memory_given(vmi.spec.domain, _ROOT, None)
    conflicts = [no_memory] if no_memory else []
    return Evaluation(new, [*conflicts, *_check_new(vmi, configuration, cluster, trusted=trusted)])


def _keep_status(new: JsonObject, old: JsonObject, *, trusted: bool) -> JsonObject:
    """Return the new VMI with the old status, unless the writer is trusted: RBAC cannot protect the status of VMIs."""
    if trusted or new.get("status") == old.get("status"):
        return new
    kept = {field: value for field, value in new.items() if field != "status"}
    return {**kept, "status": old["status"]} if "status" in old else kept


def _write(
    new: JsonObject, given: JsonObject, vmi: VirtualMachineInstance, cluster: ClusterState, *, trusted: bool
) -> JsonObject:
    stated = (new.get("status") or {}) if trusted else {}
    status = {**_begin_status(vmi.spec, cluster.now()), **stated}
    return {**overlay(new, given, to_tree(vmi)), "status": status}


def _check_changed(new: JsonObject, old: JsonObject) -> Iterator[FieldError]:
    if new["spec"] != old["spec"]:
        yield _RESTRICTED
        return
    labels, before = (tree["metadata"].get("labels") or {} for tree in (new, old))
    yield from check_label_changes(labels, before, _LABELS)


def _check_new(
    vmi: VirtualMachineInstance,
    configuration: KubeVirtConfiguration | None,
    cluster: ClusterState,
    *,
    trusted: bool,
) -> Iterator[FieldError]:
    yield from check_host_access(
        vmi.spec, _ROOT, configuration, lambda path: cluster.explain_host_disk(path, configuration)
    )
    labels = vmi.metadata.labels
    if labels and not trusted:
        yield from check_labels(labels, _LABELS)
    yield from check_guest(vmi.spec, _ROOT)
    yield from check_configured(vmi.spec, _ROOT, configuration)


def _complete(
    vmi: VirtualMachineInstance, configuration: KubeVirtConfiguration | None, cluster: ClusterState
) -> list[FieldError]:
    spec = vmi.spec
    conflicts = shape_draft(Draft(vmi.metadata, spec), Shape(), configuration, _ROOT)
    no_memory = check_memory_given(spec.domain, _ROOT, None)
    if conflicts or no_memory:
        return [*(with_default_field(one, _ROOT) for one in conflicts), *([no_memory] if no_memory else ())]
    apply_defaults(spec, configuration, default_architecture(configuration))
    firmware = spec.domain.firmware
    uuid = firmware.uuid if firmware is not None else None
    apply_instance_defaults(spec, configuration, firmware_uuid=uuid or cluster.make_uid())
    annotations = {PCI_TOPOLOGY_ANNOTATION: PCI_TOPOLOGY, **(vmi.metadata.annotations or {})}
    finalizers = vmi.metadata.finalizers or []
    if VMI_FINALIZER not in finalizers:
        finalizers = [*finalizers, VMI_FINALIZER]
    vmi.metadata = replace(vmi.metadata, annotations=annotations, finalizers=finalizers)
    return []


def _begin_status(spec: VirtualMachineInstanceSpec, now: str) -> JsonObject:
    """Return the initial status of a VMI."""
    cpu, memory = spec.domain.cpu, spec.domain.memory
    guest = memory.guest if memory else None
    status: JsonObject = {
        "phase": "Pending",
        "phaseTransitionTimestamps": [{"phase": "Pending", "phaseTransitionTimestamp": now}],
        "guestOSInfo": {},
        "runtimeUser": _GUEST_USER,
    }
    if cpu is not None:
        topology = {"sockets": cpu.sockets, "cores": cpu.cores, "threads": cpu.threads}
        status["currentCPUTopology"] = {name: number for name, number in topology.items() if number is not None}
    if guest is not None:
        names = ("guestAtBoot", "guestCurrent", "guestRequested")
        status["memory"] = dict.fromkeys(names, str(guest))
    return status
