"""
Plan the import of a dump of another cluster: which objects to create, in which order, and what cannot be imported.

The functions are pure. Fields that only the other cluster can set are dropped, and
owner references are preserved only if the owner is imported too. VMs continue to use their revisions, which are
imported with them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from virtshape.api.apps import ControllerRevision
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.config import ConfigMap, Secret
from virtshape.api.core.namespace import Namespace
from virtshape.api.kinds import Kind
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta, OwnerReference
from virtshape.api.ownerreferences import find_controller
from virtshape.api.wellknown import (
    ACCOUNT_TOKEN_TYPE,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    POD_PHASE,
    POD_READY,
    POD_RESTARTS,
    POPULATED_FOR,
    PROVISIONER,
    SELECTED_NODE,
    START_REVISION_PREFIX,
)
from virtshape.engine.compare import Change, compare_values
from virtshape.offline.files import Entry, Loaded
from virtshape.offline.objects import reference_of
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP, KINDS, find_matcher, find_status_ref
from virtshape.resolve.reference import Reference

_ORDER: Final = (
    ("", "Namespace"),
    ("", "ConfigMap"),
    ("", "Secret"),
    (INSTANCETYPE_GROUP, ""),
    (FLAVOR_GROUP, ""),
    ("apps", "ControllerRevision"),  # created before VMs, which refer to their revisions
    ("", "PersistentVolumeClaim"),
    ("cdi.kubevirt.io", "DataSource"),
    ("cdi.kubevirt.io", "DataVolume"),
    ("kubevirt.io", "VirtualMachine"),
    ("kubevirt.io", "VirtualMachineInstance"),
)
"""Groups and kinds in the order of their creation; an empty kind means all kinds of the group."""

_SERVER_FIELDS: Final = (
    "uid",
    "resource_version",
    "generation",
    "creation_timestamp",
    "managed_fields",
    "self_link",
    "finalizers",
)
_CLAIM_ANNOTATIONS: Final = (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONER,
    "volume.beta.kubernetes.io/storage-provisioner",
    SELECTED_NODE,
    POD_PHASE,
    POD_READY,
    POD_RESTARTS,
    POPULATED_FOR,
)
"""Annotations of a claim that describe its volume, or state that it has been populated."""
NOT_IMPORTED: Final = "objects of this kind are not imported"
_SET_BY_SERVER: Final = "set by the server"
_OF_SOURCE: Final = "refers to the source cluster"


class Dropped(NamedTuple):
    """A field of the dump that is not imported, and why."""

    field: str
    reason: str


class Skipped(NamedTuple):
    """An object of the dump that is not imported, and why."""

    api_version: str
    kind: str
    namespace: str
    name: str
    reason: str


class Step(NamedTuple):
    """An object to create."""

    reference: Reference
    item: Any
    """The object without the fields that are dropped."""
    owners: Sequence[tuple[Reference, OwnerReference]] = ()
    """Owners that are imported too; their references get new UIDs when the owners exist."""
    changes: Sequence[Change] = ()
    """Fields that the plan changes."""
    dropped: Sequence[Dropped] = ()


class ImportPlan(NamedTuple):
    """The objects to create, in order, and those that are not imported."""

    steps: list[Step]
    skipped: list[Skipped]


def is_importable(kind: Kind) -> bool:
    """Return True if objects of this kind can be imported."""
    return _find_rank(kind.group, kind.kind) is not None


def plan_import(entries: Iterable[Entry], *, namespace: str = "", halt: bool = False) -> ImportPlan:
    """
    Plan the import of these objects, which may be in any order.

    With `namespace`, objects in other namespaces are skipped. With `halt`, VMs get the run strategy Halted.
    """
    found = {reference_of(entry.object): entry for entry in entries}
    plan = ImportPlan([], [])
    for reference, entry in found.items():
        reason = _find_reason_to_skip(reference, entry.object, found, namespace)
        if reason:
            plan.skipped.append(describe_skipped(entry.object.api_version, reference, reason))
        else:
            plan.steps.append(_plan_object(reference, entry, found, halt=halt))
    _plan_namespaces(plan)
    plan.steps.sort(key=lambda step: (_rank(step), step.reference.namespace, step.reference.name))
    return plan


def describe_skipped_documents(loaded: Loaded) -> list[Skipped]:
    """Return the objects whose kinds cannot be imported."""
    skipped = []
    for document in loaded.skipped:
        tree = document.tree if isinstance(document.tree, dict) else {}
        metadata = tree.get("metadata")
        about = metadata if isinstance(metadata, dict) else {}
        api_version, kind = (str(tree.get(key) or "") for key in ("apiVersion", "kind"))
        namespace, name = (str(about.get(key) or "") for key in ("namespace", "name"))
        skipped.append(Skipped(api_version, kind, namespace, name, NOT_IMPORTED))
    return skipped


def describe_skipped(api_version: str, reference: Reference, reason: str) -> Skipped:
    """Return the description of an object that is not imported."""
    return Skipped(api_version, reference.kind, reference.namespace, reference.name, reason)


def list_needs(item: Any) -> list[Reference]:
    """Return what must exist before the object is created: its namespace and, for a VM, the objects it refers to."""
    namespace = item.metadata.namespace or ""
    needs = [Reference("", "Namespace", "", namespace)] if namespace else []
    for role, kinds in KINDS.items() if isinstance(item, VirtualMachine) else ():
        matcher = find_matcher(item, role)
        if matcher is None:
            continue
        if getattr(matcher, "infer_from_volume", None):  # flavors cannot be inferred
            needs += (Reference("", "PersistentVolumeClaim", namespace, name) for name in list_claims(item))
            needs += (Reference("cdi.kubevirt.io", "DataVolume", namespace, name) for name in list_claims(item))
        if matcher.revision_name:
            needs.append(Reference("apps", "ControllerRevision", namespace, matcher.revision_name))
        group = FLAVOR_GROUP if role == "flavor" else INSTANCETYPE_GROUP
        needs += (
            Reference(group, kinds.cluster, "", matcher.name or ""),
            Reference(group, kinds.namespaced, namespace, matcher.name or ""),
        )
    return needs


def list_claims(item: VirtualMachine | VirtualMachineInstance) -> list[str]:
    """Return the names of the claims and DataVolumes that a VM or a VMI uses."""
    spec = item.spec.template.spec if isinstance(item, VirtualMachine) else item.spec
    volumes = (spec.volumes if spec is not None else None) or []
    sources = [(volume.persistent_volume_claim, volume.data_volume) for volume in volumes]
    names = [claim.claim_name if claim else volume.name if volume else None for claim, volume in sources]
    return [name for name in names if name]


def _find_rank(group: str, kind: str) -> int | None:
    return next((rank for rank, known in enumerate(_ORDER) if known in ((group, kind), (group, ""))), None)


def _rank(step: Step) -> int:
    rank = _find_rank(step.reference.group, step.reference.kind)
    return len(_ORDER) if rank is None else rank


def _find_reason_to_skip(reference: Reference, item: Any, found: Mapping[Reference, Entry], namespace: str) -> str:
    """Return why an object is not imported; an empty string if it is imported."""
    owner = find_controller(item.metadata)
    if not reference.name:
        return "it has no name"
    if namespace and reference.namespace not in ("", namespace):
        return f"it is not in the namespace {namespace}"
    if item.metadata.deletion_timestamp is not None:
        return "it is being deleted"
    match item:
        case ControllerRevision() if reference.name.startswith(START_REVISION_PREFIX):
            return "the server stores a new one when the VM starts"
        case ControllerRevision() if owner is not None and owner.kind != "VirtualMachine":
            return f"it is a revision of a {owner.kind}"
        case ConfigMap() if reference.name == "kube-root-ca.crt":
            return "every cluster has its own"
        case Secret() if item.type == ACCOUNT_TOKEN_TYPE:
            return "it is only valid in the source cluster"
    if owner is None or reference.kind not in _CREATED:
        return ""
    if _is_created_by(owner, reference, found):
        return f"the server creates it for the {owner.kind} {owner.name}"
    if reference.kind == "VirtualMachineInstance":
        return f"its {owner.kind} {owner.name} is not in the dump"
    return ""


_CREATED: Final = {
    "PersistentVolumeClaim": ("DataVolume", "VirtualMachine"),
    "DataVolume": ("VirtualMachine",),
    "VirtualMachineInstance": ("VirtualMachine",),
}
"""Kinds of objects that controllers create, each with the kinds of the owners that they create it for."""


def _is_created_by(owner: OwnerReference, reference: Reference, found: Mapping[Reference, Entry]) -> bool:
    place = _refer_to_owner(owner, reference.namespace)
    if owner.kind not in _CREATED[reference.kind] or place not in found:
        return False
    if owner.kind == "VirtualMachine" and reference.kind != "VirtualMachineInstance":
        templates = found[place].object.spec.data_volume_templates or ()
        return any(each.metadata is not None and each.metadata.name == reference.name for each in templates)
    return True


def _refer_to_owner(owner: OwnerReference, namespace: str) -> Reference:
    return Reference(owner.api_version.rpartition("/")[0], owner.kind, namespace, owner.name)


def _plan_object(reference: Reference, entry: Entry, found: Collection[Reference], *, halt: bool) -> Step:
    item = entry.object
    dropped = [Dropped(field.problem.field, "unknown field") for field in entry.unknown]
    metadata, owners = _plan_metadata(reference, item.metadata, found, dropped)
    planned = replace(item, metadata=metadata)
    if getattr(item, "status", None) is not None:
        dropped.append(Dropped("status", _SET_BY_SERVER))
        planned = replace(planned, status=None)
    changes: list[Change] = []
    match planned:
        case Namespace():
            planned = replace(planned, spec=None)
        case PersistentVolumeClaim():
            planned = _plan_claim(planned, dropped)
        case VirtualMachine():
            planned = _plan_vm(planned, item, halt=halt)
            changes += compare_values(item.spec, planned.spec, "spec")
    return Step(reference, planned, owners, changes, dropped)


def _plan_metadata(
    reference: Reference, metadata: ObjectMeta, found: Collection[Reference], dropped: list[Dropped]
) -> tuple[ObjectMeta, list[tuple[Reference, OwnerReference]]]:
    """Return the metadata to send and the owners to set later; add dropped fields to `dropped`."""
    names = dict(zip(ObjectMeta.__struct_fields__, ObjectMeta.__struct_encode_fields__, strict=True))
    lost = [name for name in _SERVER_FIELDS if getattr(metadata, name) is not None]
    dropped += (Dropped(f"metadata.{names[name]}", _SET_BY_SERVER) for name in lost)
    owners = []
    for number, owner in enumerate(metadata.owner_references or ()):
        place = _refer_to_owner(owner, reference.namespace)
        if place in found:
            owners.append((place, owner))
        else:
            reason = f"the {owner.kind} {owner.name} is not in the dump"
            dropped.append(Dropped(f"metadata.ownerReferences[{number}]", reason))
    kept = replace(
        metadata,
        namespace=reference.namespace or None,
        generate_name=None,
        owner_references=None,
        **dict.fromkeys(lost),
    )
    return kept, owners


def _plan_claim(claim: PersistentVolumeClaim, dropped: list[Dropped]) -> PersistentVolumeClaim:
    """Return the claim without the reference to its volume, which is in the source cluster."""
    annotations = claim.metadata.annotations or {}
    lost = [key for key in _CLAIM_ANNOTATIONS if key in annotations]
    dropped += (Dropped(f"metadata.annotations[{key}]", _OF_SOURCE) for key in lost)
    kept = {key: value for key, value in annotations.items() if key not in lost}
    spec = claim.spec
    if spec is not None and spec.volume_name:
        dropped.append(Dropped("spec.volumeName", _OF_SOURCE))
        spec = replace(spec, volume_name=None)
    return replace(claim, metadata=replace(claim.metadata, annotations=kept or None), spec=spec)


def _plan_vm(vm: VirtualMachine, original: VirtualMachine, *, halt: bool) -> VirtualMachine:
    """Return the VM with its revisions in the spec, because its status is not imported; with `halt`, also halt it."""
    spec = vm.spec
    for role in KINDS:
        matcher, ref = find_matcher(original, role), find_status_ref(original, role)
        stored = ref.controller_revision_ref if ref is not None else None
        if matcher is None or ref is None or stored is None or matcher.revision_name:
            continue
        if stored.name and ref.name in (None, matcher.name):
            spec = replace(spec, **{role: replace(matcher, revision_name=stored.name)})
    if halt:
        spec = replace(spec, running=None, run_strategy="Halted")
    return replace(vm, spec=spec)


def _plan_namespaces(plan: ImportPlan) -> None:
    """Skip namespaces that no object is imported into, and add needed namespaces that the dump does not contain."""
    needed = {step.reference.namespace for step in plan.steps} - {""}
    unused = [step for step in plan.steps if isinstance(step.item, Namespace) and step.reference.name not in needed]
    for step in unused:
        plan.steps.remove(step)
        plan.skipped.append(describe_skipped("v1", step.reference, "no object is imported into it"))
    present = {step.reference.name for step in plan.steps if isinstance(step.item, Namespace)}
    for name in sorted(needed - present):
        item = Namespace(api_version="v1", kind="Namespace", metadata=ObjectMeta(name=name))
        plan.steps.append(Step(Reference("", "Namespace", "", name), item))
