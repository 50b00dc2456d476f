"""
Apply an instance type and a preference to a VMI, in KubeVirt's order.

The instance type is applied first. If the instance type conflicts with the VM, nothing is applied. A preference only
fills in unset fields. The instance type and the preference are not modified, but the VMI may share structs with them.
Pass copies of the instance type and the preference if you modify the VMI later.
"""

from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.engine.annotations import apply_annotations
from virtshape.engine.clock import apply_clock_preferences
from virtshape.engine.conflicts import check_conflicts
from virtshape.engine.cpu import (
    apply_cpu,
    apply_cpu_preferences,
    apply_own_vcpus,
    check_own_vcpus,
)
from virtshape.engine.devices import apply_device_preferences, apply_passthrough
from virtshape.engine.draft import Draft
from virtshape.engine.features import apply_feature_preferences
from virtshape.engine.firmware import apply_firmware_preferences
from virtshape.engine.iothreads import apply_io_threads
from virtshape.engine.launchsecurity import apply_launch_security, apply_preferred_launch_security
from virtshape.engine.machinetype import apply_machine_preferences
from virtshape.engine.memory import apply_memory
from virtshape.engine.placement import apply_placement
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
    """Apply the instance type and the preference to the draft; on conflicts, return them and change nothing."""
    spec = draft.spec
    domain = spec.domain
    conflicts = check_own_vcpus(domain.cpu, root, instancetype) if domain.cpu is not None else []
    if instancetype is not None:
        conflicts += check_conflicts(draft, instancetype, root)
    if conflicts:
        return conflicts
    if instancetype is not None:
        apply_placement(spec, instancetype)
        apply_cpu(domain, instancetype.cpu, preference, layout)
        apply_memory(domain, instancetype.memory)
        apply_io_threads(domain, instancetype)
        apply_launch_security(domain, instancetype)
        apply_passthrough(domain.devices, instancetype)
        apply_annotations(draft.metadata, instancetype.annotations)
        draft.attribute_to("instance type")
    apply_own_vcpus(domain, preference, layout)
    draft.attribute_to("VM")
    if preference is not None:
        apply_preference(draft, preference)
        draft.attribute_to("preference")
    return []


def apply_preference(draft: Draft, preference: VirtualMachinePreferenceSpec) -> None:
    """Fill in preferred values for the fields that neither the VM nor the instance type sets."""
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
    apply_preferred_launch_security(domain, preference)
    apply_annotations(draft.metadata, preference.annotations)
