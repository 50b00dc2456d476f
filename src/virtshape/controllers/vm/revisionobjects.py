"""
ControllerRevisions of VMs: copies of instance types, preferences and flavors, and of the VM's spec at start.

The functions are pure. They compute the names and contents of revisions, and the references of a VM to revisions.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import to_tree
from virtshape.api.conversion import read_revision_payload
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import (
    ControllerRevisionRef,
    InstancetypeStatusRef,
    VirtualMachine,
    VirtualMachineStatus,
)
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model
from virtshape.api.ownerreferences import is_controlled_by, make_owner_reference
from virtshape.api.quantity import Quantity
from virtshape.api.status import StatusError
from virtshape.api.wellknown import OBJECT_NAME_LABEL, RECAPTURE_ANNOTATION, START_REVISION_PREFIX
from virtshape.resolve.matcher import (
    INSTANCETYPE_GROUP,
    Matcher,
    Role,
    find_matcher,
    find_status_ref,
    full_kind,
    list_recaptured,
)

ROLES: Final[tuple[Role, ...]] = ("instancetype", "flavor", "preference")
OBJECT_LABEL: Final = INSTANCETYPE_GROUP + "/object-"
"""The prefix of the labels that describe the copied object."""
VERSION_LABEL: Final = f"{OBJECT_LABEL}version"

_UNEXPECTED: Final = "found existing ControllerRevision with unexpected data"


class Source(Protocol):
    """An instance type, flavor or preference."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    spec: Any


class Origin(Struct, frozen=True):
    """Where to read the object that a VM refers to: a stored revision or the live object."""

    where: Literal["spec", "status", "live"]
    revision: str = ""


def name_revision(vm_name: str, source: Source, version: str = "") -> str:
    """Return the name of a revision; `version` is the API version of an upgraded revision."""
    metadata = source.metadata
    parts = (vm_name, metadata.name, version, metadata.uid, metadata.generation)
    return "-".join(str(part) for part in parts if part)


def build_revision(vm: VirtualMachine, source: Source, name: str) -> ControllerRevision:
    """Build a revision of an object, with the VM as its owner."""
    metadata = source.metadata
    kept = replace(metadata, managed_fields=None)
    data = to_tree(source)
    data["metadata"] = to_tree(kept)
    return ControllerRevision(
        api_version="apps/v1",
        kind="ControllerRevision",
        metadata=ObjectMeta(
            name=name,
            namespace=vm.metadata.namespace,
            labels=label_revision(source),
            owner_references=[make_owner_reference(vm)],
        ),
        data=data,
        revision=0,
    )


def label_revision(source: Source) -> dict[str, str]:
    """Return the labels of a revision, which describe the captured object."""
    metadata = source.metadata
    return {
        OBJECT_NAME_LABEL: metadata.name or "",
        f"{OBJECT_LABEL}kind": source.kind,
        f"{OBJECT_LABEL}uid": metadata.uid or "",
        f"{OBJECT_LABEL}generation": str(metadata.generation or 0),
        VERSION_LABEL: source.api_version.rpartition("/")[2],
    }


def require_same_content(existing: ControllerRevision, wanted: ControllerRevision, kind: str) -> None:
    """Raise StatusError if the existing revision does not have the same content as the wanted one."""
    if not has_same_content(existing, wanted, kind):
        name = existing.metadata.name
        message = f"{_UNEXPECTED}: {name} differs from the current {kind}; delete one of them"
        raise StatusError(422, "UnexpectedRevision", message)


def has_same_content(one: ControllerRevision, other: ControllerRevision, kind: str) -> bool:
    """Return True if two revisions have equal specs; an empty preferredRng, for example, differs from a missing one."""
    return _meaning(read_spec(one, kind), keep_empty=True) == _meaning(read_spec(other, kind), keep_empty=True)


def read_spec(revision: ControllerRevision, kind: str) -> Model:
    """Return the spec in a revision, converted to the stored version."""
    spec: Model = read_revision_payload(revision.data, kind).spec  # type: ignore[attr-defined]
    return spec


def is_same(one: object, other: object) -> bool:
    """Return True if two values are equal; quantities are compared by amount, and empty values equal absent values."""
    return _meaning(one) == _meaning(other)


def _meaning(value: object, *, keep_empty: bool = False) -> object:
    match value:
        case Model():
            members = {name: getattr(value, name) for name in value.__struct_fields__}
            found = _drop_absent(members, keep_empty=keep_empty)
            return found if keep_empty else found or None
        case Mapping():
            return _drop_absent(value, keep_empty=keep_empty) or None
        case list():
            return [_meaning(item, keep_empty=keep_empty) for item in value] or None
        case Quantity():
            return value.amount
        case _:
            return value


def _drop_absent(members: Mapping[Any, object], *, keep_empty: bool) -> dict[Any, object]:
    meanings = ((key, _meaning(value, keep_empty=keep_empty)) for key, value in members.items())
    return {key: meaning for key, meaning in meanings if meaning is not None}


def writes_spec(configuration: KubeVirtConfiguration | None) -> bool:
    """Return True if the controller writes the names of revisions into the spec, and not only into the status."""
    settings = configuration.instancetype if configuration else None
    return settings is None or settings.revision_name != "Status"


def get_origin(vm: VirtualMachine, role: Role, matcher: Matcher, *, in_spec: bool = True) -> Origin:
    """
    Return where to read the object in this role; `in_spec` is True if the controller writes names into the spec.

    The spec takes precedence over the status, unless only the status was changed since the controller wrote both.
    """
    if role in list_recaptured(vm) and not matcher.revision_name:
        return Origin("live")
    in_status = _status_revision(vm, role, matcher)
    status_is_newer = (
        in_spec
        and vm.status is not None
        and vm.status.desired_generation == vm.metadata.generation
        and vm.metadata.generation is not None
    )
    if in_status and (status_is_newer or not matcher.revision_name):
        return Origin("status", in_status)
    if matcher.revision_name:
        return Origin("spec", matcher.revision_name)
    return Origin("live")


def _status_revision(vm: VirtualMachine, role: Role, matcher: Matcher) -> str:
    """Return the revision name in the status; empty if the revision is of another object than the one in the spec."""
    ref = find_status_ref(vm, role)
    if ref is None or ref.controller_revision_ref is None:
        return ""
    if ref.name is not None and ref.name != matcher.name:
        return ""
    return ref.controller_revision_ref.name or ""


def list_status_revisions(vm: VirtualMachine) -> list[str]:
    """Return the names of the revisions that the VM's status names and its spec does not."""
    matchers = {role: matcher for role in ROLES if (matcher := find_matcher(vm, role)) is not None}
    names = (_status_revision(vm, role, one) for role, one in matchers.items() if not one.revision_name)
    return [name for name in names if name]


def is_removable(revision: ControllerRevision, vm: VirtualMachine) -> bool:
    """Return True if the VM owns the revision, so that the VM controller may delete it."""
    return is_controlled_by(revision.metadata, vm)


def pin(vm: VirtualMachine, names: Mapping[Role, str]) -> VirtualMachine:
    """Return the VM with these revision names in its spec and without the recapture annotation."""
    spec = vm.spec
    for role, name in names.items():
        matcher = find_matcher(vm, role)
        if matcher is not None and matcher.revision_name != name:
            spec = replace(spec, **{role: replace(matcher, revision_name=name)})
    return unmark(vm if spec is vm.spec else replace(vm, spec=spec))


def unmark(vm: VirtualMachine) -> VirtualMachine:
    """Return the VM without the recapture annotation; the same object if it has none."""
    annotations = vm.metadata.annotations or {}
    if RECAPTURE_ANNOTATION not in annotations:
        return vm
    left = {key: text for key, text in annotations.items() if key != RECAPTURE_ANNOTATION}
    return replace(vm, metadata=replace(vm.metadata, annotations=left or None))


def refer_to_revisions(vm: VirtualMachine, names: Mapping[Role, str]) -> VirtualMachineStatus:
    """Return the VM's status with references to these revisions; roles without a matcher get no reference."""
    status = vm.status or VirtualMachineStatus()
    refs: dict[str, InstancetypeStatusRef | None] = {}
    for role in ROLES:
        matcher = find_matcher(vm, role)
        ref = find_status_ref(vm, role)
        if matcher is None or role not in names:
            refs[f"{role}_ref"] = None if matcher is None else ref
            continue
        refs[f"{role}_ref"] = replace(
            ref or InstancetypeStatusRef(),
            name=matcher.name,
            kind=full_kind(matcher, role),
            controller_revision_ref=ControllerRevisionRef(names[role]),
        )
    return replace(status, **refs)


def wants_expansion(vm: VirtualMachine, policy: str | None) -> bool:
    """Return True if the reference policy requires that the VM's references are replaced with their content."""
    if not any(find_matcher(vm, role) for role in ROLES):
        return False
    if policy == "expandAll":
        return True
    return policy == "expand" and not any(_has_status_revision(vm, role) for role in ROLES)


def _has_status_revision(vm: VirtualMachine, role: Role) -> bool:
    ref = find_status_ref(vm, role)
    return ref is not None and ref.controller_revision_ref is not None


def name_start_revision(vm: VirtualMachine, generation: int | None = None) -> str:
    """Return the name of the start revision for a generation, by default the current generation."""
    metadata = vm.metadata
    return f"{START_REVISION_PREFIX}{metadata.uid}-{generation or metadata.generation}"


def build_start_revision(vm: VirtualMachine) -> ControllerRevision:
    """Build the revision with the VM's spec at start."""
    metadata = vm.metadata
    return ControllerRevision(
        api_version="apps/v1",
        kind="ControllerRevision",
        metadata=ObjectMeta(
            name=name_start_revision(vm),
            namespace=metadata.namespace,
            owner_references=[make_owner_reference(vm)],
        ),
        data={"spec": to_tree(vm.spec)},
        revision=metadata.generation or 0,
    )


def has_changed_since(vm: VirtualMachine, start: ControllerRevision) -> bool:
    """Return True if the template or a matcher of the VM has changed since the start."""
    data = start.data if isinstance(start.data, dict) else {}
    then, now = data.get("spec") or {}, to_tree(vm.spec)
    return any(not is_same(then.get(part), now.get(part)) for part in ("template", *ROLES))
