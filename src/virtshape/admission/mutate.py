"""
Defaulting of VMs: infer matchers, and store what the preference sets permanently.

Changes the VM passed in, which is the caller's copy.
"""

from typing import NamedTuple

from virtshape.admission.matcher import check_matchers, clear_captured_revisions, keep_inferred
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.engine.expand import draft_template
from virtshape.engine.machine import apply_machine_preferences
from virtshape.engine.volumes import apply_storage_class
from virtshape.resolve.find import find_object, preference_spec
from virtshape.resolve.infer import infer_matchers
from virtshape.resolve.reference import Lookup


class Mutated(NamedTuple):
    """The VM with defaults, and warnings for its owner."""

    vm: VirtualMachine
    warnings: list[str]


def mutate_vm(vm: VirtualMachine, lookup: Lookup, old: VirtualMachine | None = None) -> Mutated:
    """Set the defaults of the VM; `old` is the VM that an update replaces."""
    warnings: list[str] = []
    if old is not None:
        clear_captured_revisions(vm, old)
        warnings = keep_inferred(vm, old)
    causes = check_matchers(vm, old)
    if causes:
        raise StatusError(422, "Invalid", ", ".join(cause.message for cause in causes), causes)
    warnings += infer_matchers(vm, lookup)
    try:
        preference = preference_spec(find_object(vm, "preference", lookup))
    except StatusError:  # validation reports it
        preference = None
    if preference is not None:
        write_preferred(vm, preference)
    return Mutated(vm, warnings)


def write_preferred(vm: VirtualMachine, preference: VirtualMachinePreferenceSpec) -> None:
    """Store the preferred values that must not change during the lifetime of the VM."""
    spec = draft_template(vm).spec
    spec.architecture = spec.architecture or preference.preferred_architecture
    if preference.machine is not None:
        apply_machine_preferences(spec.domain, preference.machine)
    if preference.volumes is not None:
        apply_storage_class(vm, preference.volumes)
