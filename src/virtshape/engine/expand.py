"""
Expand: replace a VM's references to an instance type and a preference with the fields that these objects set.

The VM is modified in place, so pass a copy. The package `resolve` finds the referenced objects.
"""

from msgspec import Struct

from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.engine.apply import TEMPLATE_ROOT, apply
from virtshape.engine.defaults import apply_defaults
from virtshape.engine.disks import apply_default_disks
from virtshape.engine.draft import Draft, Trace
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE
from virtshape.engine.network import apply_default_interface
from virtshape.engine.topology import Layout


class Shape(Struct, frozen=True, gc=False):
    """An instance type, a preference, and the vCPU topology to use if the preference does not set one."""

    instancetype: VirtualMachineInstancetypeSpec | None = None
    preference: VirtualMachinePreferenceSpec | None = None
    layout: Layout = "sockets"


def expand_vm(
    vm: VirtualMachine,
    shape: Shape,
    configuration: KubeVirtConfiguration | None = None,
    architecture: str = DEFAULT_ARCHITECTURE,
    trace: Trace | None = None,
) -> list[FieldError]:
    """Expand the VM in place and remove its references; on conflicts, return them and leave the references."""
    template = vm.spec.template
    if shape.instancetype is None and shape.preference is None:
        return apply(draft_template(vm, trace), None, None, layout=shape.layout) if template.spec is not None else []
    draft = draft_template(vm, trace)
    conflicts = shape_draft(draft, shape, configuration)
    if conflicts:
        return conflicts
    apply_defaults(draft.spec, configuration, architecture)
    draft.attribute_to("default")
    if draft.metadata.annotations:
        template.metadata = draft.metadata
    vm.spec.instancetype = vm.spec.preference = vm.spec.flavor = None
    if vm.status is not None:
        vm.status.instancetype_ref = vm.status.preference_ref = vm.status.flavor_ref = None
    return []


def shape_draft(
    draft: Draft, shape: Shape, configuration: KubeVirtConfiguration | None, root: str = TEMPLATE_ROOT
) -> list[FieldError]:
    """Add default disks and a default interface, then apply the instance type and the preference; return errors."""
    apply_default_disks(draft.spec)
    unusable = apply_default_interface(draft.spec, configuration)
    if unusable is not None:
        return [unusable]
    draft.attribute_to("default")
    return apply(draft, shape.instancetype, shape.preference, root=root, layout=shape.layout)


def draft_template(vm: VirtualMachine, trace: Trace | None = None) -> Draft:
    """Return a draft of the VM's template; add an empty spec to a template without a spec, but no metadata."""
    template = vm.spec.template
    if template.spec is None:
        template.spec = VirtualMachineInstanceSpec(domain=DomainSpec(devices=Devices()))
    draft = Draft(template.metadata or ObjectMeta(), template.spec, trace)
    draft.attribute_to("VM")
    return draft
