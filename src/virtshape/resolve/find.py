"""
Find the instance type, preference or flavor that a VM refers to: its stored revision, or else the live object.

A revision in the spec takes precedence over a revision in the status. A revision in the status is used only if it was
captured from the object that the matcher refers to now.
"""

from typing import NamedTuple

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.conversion import read_revision_payload
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.instancetype import v1beta2
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.api.wellknown import OBJECT_NAME_LABEL
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
from virtshape.resolve.search import Search

_Instancetypes = (v1beta2.VirtualMachineClusterInstancetype, v1beta2.VirtualMachineInstancetype)
_Preferences = (v1beta2.VirtualMachineClusterPreference, v1beta2.VirtualMachinePreference)
_Flavors = (flavor.VirtualMachineFlavor, flavor.VirtualMachineClusterFlavor)
_FlavorPreferences = (flavor.VirtualMachinePreference, flavor.VirtualMachineClusterPreference)


def get_shape(vm: VirtualMachine, lookup: Lookup) -> Shape:
    """Return the specs of the instance type (or flavor) and the preference of a VM, and its default vCPU layout."""
    return Shape(
        instancetype_spec(find_object(vm, instancetype_role(vm), lookup)),
        preference_spec(find_object(vm, "preference", lookup)),
        default_layout(vm),
    )


def instancetype_role(vm: VirtualMachine) -> Role:
    """Return `flavor` if the VM refers to a flavor, else `instancetype`; raise StatusError if the VM refers to both."""
    if vm.spec.flavor is None:
        return "instancetype"
    ambiguous = check_sole_size(vm)
    if ambiguous is not None:
        raise StatusError(422, "Invalid", ambiguous.message, [ambiguous])
    return "flavor"


def default_layout(vm: VirtualMachine) -> Layout:
    """Return the default vCPU layout if no preference sets one: cores for VMs with a flavor, otherwise sockets."""
    return "sockets" if vm.spec.flavor is None else "cores"


def find_object(vm: VirtualMachine, role: Role, lookup: Lookup) -> Model | None:
    """
    Return the object that the VM refers to in this role: from the stored revision, or else the live object.

    Return None if the VM has no matcher in this role; raise NotFoundError if the object does not exist.
    """
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


def search_object(vm: VirtualMachine, role: Role) -> Search[Model | None]:
    """Return a search for the object that `find_object` returns; for objects in memory, `find_object` is faster."""
    matcher: Matcher | None = getattr(vm.spec, role)
    if matcher is None:
        return None
    stored = _refer_to_revision(vm, role, matcher) if matcher.revision_name or vm.status is not None else None
    if stored is not None:
        revision = _choose_revision((yield stored.reference), stored, matcher)
        if revision is not None:
            return read_revision_payload(revision.data, full_kind(matcher, role))
    reference = refer(vm, role, matcher)
    found = yield reference
    if found is None:
        raise NotFoundError(reference, f"spec.{role}.name")
    return found


def search_shape(vm: VirtualMachine) -> Search[Shape]:
    """Return a search for the Shape that `get_shape` returns."""
    sizing = yield from search_object(vm, instancetype_role(vm))
    preference = yield from search_object(vm, "preference")
    return Shape(instancetype_spec(sizing), preference_spec(preference), default_layout(vm))


def refer(vm: VirtualMachine, role: Role, matcher: Matcher) -> Reference:
    """Return a reference to the live object that the matcher refers to."""
    kind = full_kind(matcher, role)
    in_flavors = role == "flavor" or (role == "preference" and vm.spec.flavor is not None)
    namespace = "" if kind == KINDS[role].cluster else namespace_of(vm)
    return Reference(FLAVOR_GROUP if in_flavors else INSTANCETYPE_GROUP, kind, namespace, matcher.name or "")


def namespace_of(vm: VirtualMachine) -> str:
    """Return the VM's namespace, or `default` if a manifest omits it."""
    return vm.metadata.namespace or "default"


def find_revision(vm: VirtualMachine, role: Role, matcher: Matcher, lookup: Lookup) -> ControllerRevision | None:
    """Return the revision that the VM refers to, or None if it refers to none; raise NotFoundError if it is missing."""
    stored = _refer_to_revision(vm, role, matcher)
    return _choose_revision(lookup(stored.reference), stored, matcher) if stored is not None else None


class _StoredRevision(NamedTuple):
    """A revision that a VM refers to, and the field that refers to it."""

    reference: Reference
    field: str


def _refer_to_revision(vm: VirtualMachine, role: Role, matcher: Matcher) -> _StoredRevision | None:
    if matcher.revision_name:
        name, field = matcher.revision_name, f"spec.{role}.revisionName"
    else:
        ref = find_status_ref(vm, role) if role not in list_recaptured(vm) else None
        captured = ref.controller_revision_ref.name if ref and ref.controller_revision_ref else None
        if not captured:
            return None
        name, field = captured, f"status.{role}Ref.controllerRevisionRef.name"
    return _StoredRevision(Reference("apps", "ControllerRevision", namespace_of(vm), name), field)


def _choose_revision(found: Model | None, stored: _StoredRevision, matcher: Matcher) -> ControllerRevision | None:
    """Return the revision, or None if it was captured from an object that the matcher no longer refers to."""
    if not isinstance(found, ControllerRevision):
        raise NotFoundError(*stored)
    if matcher.revision_name:
        return found
    labels = found.metadata.labels or {}
    return found if labels.get(OBJECT_NAME_LABEL) == matcher.name else None


def instancetype_spec(found: Model | None) -> VirtualMachineInstancetypeSpec | None:
    """Return the spec of an instance type, or of a flavor converted to one; return None for other objects."""
    if isinstance(found, _Instancetypes):
        return found.spec
    return from_tree(to_tree(found.spec), VirtualMachineInstancetypeSpec) if isinstance(found, _Flavors) else None


def preference_spec(found: Model | None) -> VirtualMachinePreferenceSpec | None:
    """Return the spec of a preference from either API group, in v1beta2; return None for other objects."""
    if isinstance(found, _Preferences):
        return found.spec
    return (
        from_tree(to_tree(found.spec), VirtualMachinePreferenceSpec) if isinstance(found, _FlavorPreferences) else None
    )
