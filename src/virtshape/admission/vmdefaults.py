"""
Defaulting of VMs: infer matchers, and store the preferred values that must not change later.

The functions modify the VM in place, so pass a copy.
"""

from typing import NamedTuple

from virtshape.admission.matchervalidation import check_matchers, clear_captured_revisions, keep_inferred
from virtshape.admission.vminputs import Found, References, search_role
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.kubevirt.virtualmachine import InstancetypeMatcher, PreferenceMatcher, VirtualMachine
from virtshape.api.status import StatusError
from virtshape.engine.expand import draft_template
from virtshape.engine.machinetype import apply_machine_preferences
from virtshape.engine.storageclass import apply_storage_class
from virtshape.resolve.find import preference_spec
from virtshape.resolve.infer import INFERRED, asks_for_inference, search_matchers
from virtshape.resolve.matcher import Role
from virtshape.resolve.search import Search


class Mutated(NamedTuple):
    """The VM with defaults, warnings for its owner, its resolved matchers, and the preference that set defaults."""

    vm: VirtualMachine
    warnings: list[FieldError]
    references: References
    preference: Found


def search_defaults(vm: VirtualMachine, old: VirtualMachine | None = None) -> Search[Mutated]:
    """Set the defaults of the VM, except those of an unresolved preference; `old` is the VM that an update replaces."""
    warnings: list[FieldError] = []
    if old is not None:
        clear_captured_revisions(vm, old)
        warnings = keep_inferred(vm, old)
    references = yield from resolve_matchers(vm, old)
    warnings += references.warnings
    if vm.spec.preference is None or "preference" in references.unresolved:
        return Mutated(vm, warnings, references, Found())
    found = yield from search_role(vm, "preference")  # an unusable preference is reported by validation, not here
    preference = preference_spec(found.object)
    if preference is not None:
        write_preferred(vm, preference)
    return Mutated(vm, warnings, references, found)


def resolve_matchers(vm: VirtualMachine, old: VirtualMachine | None) -> Search[References]:
    """Check the matchers of the VM, and infer valid matchers that ask for inference; the result contains the errors."""
    causes = check_matchers(vm, old)
    if not causes and not asks_for_inference(vm):
        return References()
    error = StatusError(422, "Invalid", ", ".join(cause.message for cause in causes), causes) if causes else None
    unresolved = {cause.field.split(".")[1] for cause in causes}
    ignored: list[FieldError] = []
    volumes: dict[Role, str] = {}
    for role in INFERRED:
        matcher: InstancetypeMatcher | PreferenceMatcher | None = getattr(vm.spec, role)
        if matcher is None or not matcher.infer_from_volume or role in unresolved:
            continue
        volumes[role] = matcher.infer_from_volume
        try:
            ignored += yield from search_matchers(vm, (role,))
        except StatusError as failed:
            unresolved.add(role)
            causes += failed.causes
            # Not 404, which would mean that the VM is missing.
            error = error or StatusError(400, "BadRequest", failed.message)
    if error is not None:
        error.causes = tuple(causes)
    return References(error, frozenset(unresolved), ignored, volumes)


def write_preferred(vm: VirtualMachine, preference: VirtualMachinePreferenceSpec) -> None:
    """Set preferred values that must not change during the lifetime of the VM, unless the VM sets them."""
    spec = draft_template(vm).spec
    spec.architecture = spec.architecture or preference.preferred_architecture
    if preference.machine is not None:
        apply_machine_preferences(spec.domain, preference.machine)
    if preference.volumes is not None:
        apply_storage_class(vm, preference.volumes)
