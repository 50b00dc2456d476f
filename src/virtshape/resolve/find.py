"""
Find the instance type, preference or flavor that a VM names: its stored revision, or else the live object.

A revision named in the spec takes precedence over one in the status. The one in the status counts only if it was
captured from the object that the matcher names now.
"""

from typing import Final

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.conversion import read_revision_payload
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.instancetype import v1beta2
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.engine.expand import Shape
from virtshape.engine.topology import Layout
from virtshape.resolve.matcher import (
    FLAVOR_GROUP,
    INSTANCETYPE_GROUP,
    KINDS,
    Matcher,
    Role,
    check_sole_size,
    find_status_ref,
    full_kind,
    list_recaptured,
)
from virtshape.resolve.reference import Lookup, NotFoundError, Reference

OBJECT_NAME_LABEL: Final = "instancetype.kubevirt.io/object-name"

_Instancetypes = (v1beta2.VirtualMachineClusterInstancetype, v1beta2.VirtualMachineInstancetype)
_Preferences = (v1beta2.VirtualMachineClusterPreference, v1beta2.VirtualMachinePreference)
_Flavors = (flavor.VirtualMachineFlavor, flavor.VirtualMachineClusterFlavor)
_FlavorPreferences = (flavor.VirtualMachinePreference, flavor.VirtualMachineClusterPreference)


def find_shape(vm: VirtualMachine, lookup: Lookup) -> Shape:
    """Return the instance type (or flavor) and the preference that a VM names."""
    return Shape(
        instancetype_spec(find_object(vm, instancetype_role(vm), lookup)),
        preference_spec(find_object(vm, "preference", lookup)),
        default_layout(vm),
    )


def instancetype_role(vm: VirtualMachine) -> Role:
    """Return whether the VM names an instance type or a flavor; raise StatusError if it names both."""
    if vm.spec.flavor is None:
        return "instancetype"
    ambiguous = check_sole_size(vm)
    if ambiguous is not None:
        raise StatusError(422, "Invalid", ambiguous.message, [ambiguous])
    return "flavor"


def default_layout(vm: VirtualMachine) -> Layout:
    """Return the vCPU layout without a preference: cores for flavors, sockets otherwise."""
    return "sockets" if vm.spec.flavor is None else "cores"


def find_object(vm: VirtualMachine, role: Role, lookup: Lookup) -> Model | None:
    """Return the object that the VM names in this role: its stored revision, or else the live object."""
    matcher: Matcher | None = getattr(vm.spec, role)
    if matcher is None:
        return None
    revision = find_revision(vm, role, matcher, lookup) if matcher.revision_name or vm.status is not None else None
    if revision is not None:
        return read_revision_payload(revision.data, full_kind(matcher, role))
    reference = refer(vm, role, matcher)
    found = lookup(reference)
    if found is None:
        raise NotFoundError(reference, f"spec.{role}.name")
    return found


def refer(vm: VirtualMachine, role: Role, matcher: Matcher) -> Reference:
    """Return a reference to the live object that the matcher names."""
    kind = full_kind(matcher, role)
    in_flavors = role == "flavor" or (role == "preference" and vm.spec.flavor is not None)
    namespace = "" if kind == KINDS[role].cluster else namespace_of(vm)
    return Reference(FLAVOR_GROUP if in_flavors else INSTANCETYPE_GROUP, kind, namespace, matcher.name or "")


def namespace_of(vm: VirtualMachine) -> str:
    """Return the VM's namespace; manifests in files may omit it."""
    return (vm.metadata.namespace if vm.metadata else None) or "default"


def find_revision(vm: VirtualMachine, role: Role, matcher: Matcher, lookup: Lookup) -> ControllerRevision | None:
    """Return the stored revision to use, or None."""
    if matcher.revision_name:
        return _get_revision(vm, matcher.revision_name, f"spec.{role}.revisionName", lookup)
    ref = find_status_ref(vm, role) if role not in list_recaptured(vm) else None
    captured = ref.controller_revision_ref.name if ref and ref.controller_revision_ref else None
    if not captured:
        return None
    revision = _get_revision(vm, captured, f"status.{role}Ref.controllerRevisionRef.name", lookup)
    labels = (revision.metadata.labels if revision.metadata else None) or {}
    return revision if labels.get(OBJECT_NAME_LABEL) == matcher.name else None


def _get_revision(vm: VirtualMachine, name: str, field: str, lookup: Lookup) -> ControllerRevision:
    reference = Reference("apps", "ControllerRevision", namespace_of(vm), name)
    found = lookup(reference)
    if not isinstance(found, ControllerRevision):
        raise NotFoundError(reference, field)
    return found


def instancetype_spec(found: Model | None) -> VirtualMachineInstancetypeSpec | None:
    """Return the spec of an instance type, or of a flavor converted to one."""
    if isinstance(found, _Instancetypes):
        return found.spec
    return from_tree(to_tree(found.spec), VirtualMachineInstancetypeSpec) if isinstance(found, _Flavors) else None


def preference_spec(found: Model | None) -> VirtualMachinePreferenceSpec | None:
    """Return the spec of a preference of either API group."""
    if isinstance(found, _Preferences):
        return found.spec
    return (
        from_tree(to_tree(found.spec), VirtualMachinePreferenceSpec) if isinstance(found, _FlavorPreferences) else None
    )
