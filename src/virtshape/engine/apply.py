"""
The order in which an instance type and a preference shape a VMI.

The instance type comes first and gives; any conflict stops before the preference, which only fills in.
Neither is written to, but whole structs of theirs become part of the VMI: whoever goes on to change it gives copies.
"""

from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.engine.annotations import apply_annotations, check_annotations
from virtshape.engine.clock import apply_clock_preferences
from virtshape.engine.conflict import Conflict, instancetype_conflict
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
from virtshape.engine.machine import apply_machine_preferences
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
) -> list[Conflict]:
    """Shape the draft, or say why it cannot be: then it is left as it was."""
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
        draft.close_turn("instance type")
    apply_own_vcpus(domain, preference, layout)
    draft.close_turn("VM")
    if preference is not None:
        apply_preference(draft, preference)
        draft.close_turn("preference")
    return []


def check_instancetype(draft: Draft, instancetype: VirtualMachineInstancetypeSpec, root: str) -> list[Conflict]:
    """Everything that the VM and its instance type both say, and what neither does."""
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
    """Fill in what neither the VM nor the instance type says."""
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
