"""
Defaulting of VMs: infer matchers, and store what the preference sets permanently.

Changes the VM passed in, which is the caller's copy.
"""

from typing import NamedTuple

from virtshape.admission.matcher import check_matchers, clear_captured_revisions, keep_inferred
from virtshape.admission.vminputs import Found, search_role
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.engine.expand import draft_template
from virtshape.engine.machine import apply_machine_preferences
from virtshape.engine.volumes import apply_storage_class
from virtshape.resolve.find import preference_spec
from virtshape.resolve.infer import asks_for_inference, search_matchers
from virtshape.resolve.search import Search


class Mutated(NamedTuple):
    """The VM with defaults, warnings for its owner, and the preference that the defaults were taken from."""

    vm: VirtualMachine
    warnings: list[str]
    preference: Found


def mutate_vm(vm: VirtualMachine, old: VirtualMachine | None = None) -> Search[Mutated]:
    """Set the defaults of the VM; `old` is the VM that an update replaces."""
    warnings: list[str] = []
    if old is not None:
        clear_captured_revisions(vm, old)
        warnings = keep_inferred(vm, old)
    require_valid_matchers(vm, old)
    if asks_for_inference(vm):
        warnings += yield from search_matchers(vm)
    if vm.spec.preference is None:
        return Mutated(vm, warnings, Found())
    found = yield from search_role(vm, "preference")  # validation reports an unusable one
    preference = preference_spec(found.object)
    if preference is not None:
        write_preferred(vm, preference)
    return Mutated(vm, warnings, found)


def require_valid_matchers(vm: VirtualMachine, old: VirtualMachine | None) -> None:
    """Raise StatusError with all violations if a matcher is invalid."""
    causes = check_matchers(vm, old)
    if causes:
        raise StatusError(422, "Invalid", ", ".join(cause.message for cause in causes), causes)


def write_preferred(vm: VirtualMachine, preference: VirtualMachinePreferenceSpec) -> None:
    """Store the preferred values that must not change during the lifetime of the VM."""
    spec = draft_template(vm).spec
    spec.architecture = spec.architecture or preference.preferred_architecture
    if preference.machine is not None:
        apply_machine_preferences(spec.domain, preference.machine)
    if preference.volumes is not None:
        apply_storage_class(vm, preference.volumes)
