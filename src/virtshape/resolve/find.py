"""
Finds what a VM names: the stored revision if there is one, else the live object.

The revision in the spec beats the one in the status, which counts only if it is of the object named now.
"""

from typing import Final, NamedTuple

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.conversion import read_revision_payload
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.instancetype import v1beta2
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model
from virtshape.engine.expand import Shape
from virtshape.engine.topology import Layout
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP, Matcher, Role, find_matcher, find_status_ref
from virtshape.resolve.matcher import full_kind
from virtshape.resolve.reference import NotFoundError, Reference, Steps

OBJECT_NAME_LABEL: Final = "instancetype.kubevirt.io/object-name"

_Instancetypes = (v1beta2.VirtualMachineInstancetype, v1beta2.VirtualMachineClusterInstancetype)
_Preferences = (v1beta2.VirtualMachinePreference, v1beta2.VirtualMachineClusterPreference)
_Flavors = (flavor.VirtualMachineFlavor, flavor.VirtualMachineClusterFlavor)
_FlavorPreferences = (flavor.VirtualMachinePreference, flavor.VirtualMachineClusterPreference)

class Found(NamedTuple):
    """What a VM names, as the engine takes it, and the objects it came from."""

    shape: Shape
    instancetype: Model | None = None
    preference: Model | None = None


def find_shape(vm: VirtualMachine) -> Steps[Found]:
    """Both things that a VM names; a flavor takes the place of an instance type."""
    role = instancetype_role(vm)
    instancetype = yield from find_object(vm, role)
    preference = yield from find_object(vm, "preference")
    layout: Layout = "cores" if role == "flavor" else "sockets"
    shape = Shape(instancetype_spec(instancetype), preference_spec(preference), layout)
    return Found(shape, instancetype, preference)


def instancetype_role(vm: VirtualMachine) -> Role:
    """In which role the VM names what it gets."""
    return "flavor" if vm.spec.flavor is not None else "instancetype"


def find_object(vm: VirtualMachine, role: Role) -> Steps[Model | None]:
    """The object that the VM names in this role: a stored revision, else the live one."""
    matcher = find_matcher(vm, role)
    if matcher is None:
        return None
    if matcher.revision_name:
        revision = yield from _find_revision(vm, matcher.revision_name, f"spec.{role}.revisionName")
        return read_revision_payload(revision.data, full_kind(matcher, role))
    status_ref = find_status_ref(vm, role)
    if status_ref is not None and status_ref.controller_revision_ref is not None:
        name = status_ref.controller_revision_ref.name
        if name:
            revision = yield from _find_revision(vm, name, f"status.{role}Ref.controllerRevisionRef.name")
            if _labels(revision).get(OBJECT_NAME_LABEL) == matcher.name:
                return read_revision_payload(revision.data, full_kind(matcher, role))
    return (yield from _find_live(vm, role, matcher))


def refer(vm: VirtualMachine, role: Role, matcher: Matcher) -> Reference:
    """Where the live object stands that the matcher names."""
    kind = full_kind(matcher, role)
    in_flavors = role == "flavor" or (role == "preference" and vm.spec.flavor is not None)
    namespace = "" if kind.startswith("VirtualMachineCluster") else namespace_of(vm)
    return Reference(FLAVOR_GROUP if in_flavors else INSTANCETYPE_GROUP, kind, namespace, matcher.name or "")


def namespace_of(vm: VirtualMachine) -> str:
    """The VM's namespace; files may leave it out."""
    return (vm.metadata.namespace if vm.metadata else None) or "default"


def _find_live(vm: VirtualMachine, role: Role, matcher: Matcher) -> Steps[Model | None]:
    reference = refer(vm, role, matcher)
    found = yield reference
    if found is None:
        raise NotFoundError(reference, f"spec.{role}.name")
    return found


def _find_revision(vm: VirtualMachine, name: str, field: str) -> Steps[ControllerRevision]:
    reference = Reference("apps", "ControllerRevision", namespace_of(vm), name)
    found = yield reference
    if not isinstance(found, ControllerRevision):
        raise NotFoundError(reference, field)
    return found


def _labels(revision: ControllerRevision) -> dict[str, str]:
    return (revision.metadata.labels if revision.metadata else None) or {}


def instancetype_spec(found: Model | None) -> VirtualMachineInstancetypeSpec | None:
    """What the engine takes of an instance type or a flavor."""
    if isinstance(found, _Instancetypes):
        return found.spec
    return from_tree(to_tree(found.spec), VirtualMachineInstancetypeSpec) if isinstance(found, _Flavors) else None


def preference_spec(found: Model | None) -> VirtualMachinePreferenceSpec | None:
    """What the engine takes of a preference of either group."""
    if isinstance(found, _Preferences):
        return found.spec
    return from_tree(to_tree(found.spec), VirtualMachinePreferenceSpec) if isinstance(found, _FlavorPreferences) else None
