"""
Apply an instance type and a preference to a VMI, in KubeVirt's order.

The instance type is applied first. If it conflicts with the VM, nothing is applied. A preference only fills in
unset fields. The instance type and the preference are not modified, but the VMI may share structs with them: pass
copies if the VMI is modified later.
"""

from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.engine.annotations import apply_annotations, check_annotations
from virtshape.engine.clock import apply_clock_preferences
from virtshape.engine.conflict import instancetype_conflict
from virtshape.engine.cpu import (
    apply_cpu,
    apply_cpu_preferences,
    apply_own_vcpus,
    check_cpu,
    check_own_vcpus,
)
from virtshape.engine.devices import apply_device_preferences, apply_passthrough, check_passthrough
from virtshape.engine.draft import Draft
from virtshape.engine.features import apply_feature_preferences
from virtshape.engine.firmware import apply_firmware_preferences
from virtshape.engine.machinetype import apply_machine_preferences
from virtshape.engine.memory import apply_memory, check_memory, check_memory_given
from virtshape.engine.placement import apply_placement, check_placement
from virtshape.engine.threads import apply_threads, check_threads
from virtshape.engine.topology import Layout

TEMPLATE_ROOT = "spec.template.spec"


def apply(
    draft: Draft,
    instancetype: VirtualMachineInstancetypeSpec | None,
    preference: VirtualMachinePreferenceSpec | None,
    *,
    root: str = TEMPLATE_ROOT,
    layout: Layout = "sockets",
) -> list[FieldError]:
    """Apply the instance type and the preference to the draft, or return all conflicts and leave it unchanged."""
    spec = draft.spec
    domain = spec.domain
    conflicts = check_own_vcpus(domain.cpu, root, instancetype) if domain.cpu is not None else []
    if instancetype is not None:
        conflicts += check_instancetype(draft, instancetype, root)
    if conflicts:
        return conflicts
    if instancetype is not None:
        apply_placement(spec, instancetype)
        apply_cpu(domain, instancetype.cpu, preference, layout)
        apply_memory(domain, instancetype.memory)
        apply_threads(domain, instancetype)
        apply_passthrough(domain.devices, instancetype)
        apply_annotations(draft.metadata, instancetype.annotations)
        draft.attribute_to("instance type")
    apply_own_vcpus(domain, preference, layout)
    draft.attribute_to("VM")
    if preference is not None:
        apply_preference(draft, preference)
        draft.attribute_to("preference")
    return []


def check_instancetype(draft: Draft, instancetype: VirtualMachineInstancetypeSpec, root: str) -> list[FieldError]:
    """Return an error for each VM field that conflicts with the instance type, and for memory that neither sets."""
    spec = draft.spec
    domain = spec.domain
    clashes = check_placement(spec, instancetype)
    clashes += check_cpu(domain, instancetype.cpu)
    clashes += check_memory(domain, instancetype.memory)
    clashes += check_threads(domain, instancetype)
    clashes += check_passthrough(domain.devices, instancetype)
    annotations = check_annotations(draft.metadata, instancetype.annotations)
    missing = check_memory_given(domain, root, instancetype.memory)
    if not (clashes or annotations or missing):
        return []
    conflicts = [instancetype_conflict(f"{root}.{field}") for field in clashes]
    conflicts += map(instancetype_conflict, annotations)
    return [*conflicts, missing] if missing else conflicts


def apply_preference(draft: Draft, preference: VirtualMachinePreferenceSpec) -> None:
    """Fill in the fields that neither the VM nor the instance type sets."""
    spec = draft.spec
    domain = spec.domain
    apply_cpu_preferences(domain, preference)
    if preference.devices is not None:
        apply_device_preferences(spec, preference.devices)
    if preference.features is not None:
        apply_feature_preferences(domain, preference.features)
    if preference.firmware is not None:
        apply_firmware_preferences(domain, preference.firmware)
    if preference.machine is not None:
        apply_machine_preferences(domain, preference.machine)
    if preference.clock is not None:
        apply_clock_preferences(domain, preference.clock)
    spec.architecture = spec.architecture or preference.preferred_architecture
    spec.subdomain = spec.subdomain or preference.preferred_subdomain
    if spec.termination_grace_period_seconds is None:
        spec.termination_grace_period_seconds = preference.preferred_termination_grace_period_seconds
    domain.launch_security = domain.launch_security or preference.preferred_launch_security
    apply_annotations(draft.metadata, preference.annotations)
