"""
Whether a VM fits what it refers to: conflicts with its instance type, memory, vCPUs, what its preference requires.

Finds all of it at once: requirements are held against the VM as it will be once its conflicts are gone.
"""

from collections.abc import Iterator
from copy import copy
from typing import Final, NamedTuple

from msgspec.structs import replace

from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.domain import DomainSpec, Memory, ResourceRequirements
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.engine.apply import TEMPLATE_ROOT, check_instancetype
from virtshape.engine.conflict import Conflict, instancetype_conflict
from virtshape.engine.cpu import check_own_vcpus, check_vcpus_spread
from virtshape.engine.defaults import apply_defaults
from virtshape.engine.draft import Draft
from virtshape.engine.expand import draft_template
from virtshape.engine.memory import check_memory_given
from virtshape.engine.nearest import find_nearest
from virtshape.engine.requirements import check_requirements
from virtshape.offline.lint.finding import Remark
from virtshape.offline.lint.references import UNKNOWN, check_own_matchers, check_reference
from virtshape.offline.lint.surroundings import Surroundings
from virtshape.resolve.find import instancetype_role, instancetype_spec, namespace_of, preference_spec
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP, Role, find_matcher

Instancetype = VirtualMachineInstancetypeSpec
Preference = VirtualMachinePreferenceSpec

_ANNOTATIONS: Final = "annotations."
_SPELLED: Final = {"dedicatedCPUPlacement": "dedicatedCpuPlacement"}


def check_fit(vm: VirtualMachine, around: Surroundings, architecture: str) -> Iterator[Remark]:
    """Everything that keeps the VM from being started with what it refers to; infers matchers in the VM given."""
    role: Role = "instancetype" if vm.spec.flavor is None else "flavor"
    unsound = yield from check_own_matchers(vm)
    sizing = UNKNOWN if role in unsound else (yield from check_reference(vm, role, around))
    liking = UNKNOWN if "preference" in unsound else (yield from check_reference(vm, "preference", around))
    if vm.spec.template.spec is None:
        return
    draft = draft_template(vm)
    if isinstance(sizing, str):
        yield from _check_own_vcpus(draft, Instancetype())
        return
    instancetype = instancetype_spec(sizing)
    yield from _check_own_vcpus(draft, instancetype)
    yield from map(_describe_conflict, _check_sizes(draft, instancetype))
    preference = None if isinstance(liking, str) else preference_spec(liking)
    if preference is not None:
        yield from _check_preference(vm, _Fit(draft, instancetype, preference, architecture), around)


def _check_own_vcpus(draft: Draft, instancetype: Instancetype | None) -> Iterator[Remark]:
    cpu = draft.spec.domain.cpu
    for conflict in check_own_vcpus(cpu, TEMPLATE_ROOT, instancetype) if cpu else ():
        yield Remark("own-vcpus", conflict.fields[0], conflict.message)


def _check_sizes(draft: Draft, instancetype: Instancetype | None) -> list[Conflict]:
    if instancetype is not None:
        return check_instancetype(draft, instancetype, TEMPLATE_ROOT)
    missing = check_memory_given(draft.spec.domain, TEMPLATE_ROOT, None)
    return [missing] if missing else []


def _describe_conflict(conflict: Conflict) -> Remark:
    field = _real_path(conflict.fields[0])
    if conflict != instancetype_conflict(*conflict.fields):
        return Remark("no-memory", field, conflict.message)
    advice = "remove it from the VM, or choose another instance type"
    return Remark("instancetype-conflict", field, f"{conflict.message}: {advice}")


def _real_path(field: str) -> str:
    """Where a conflict stands in the VM: some are named otherwise than the VM's own field is."""
    if field.startswith(_ANNOTATIONS):
        return f"spec.template.metadata.annotations[{field.removeprefix(_ANNOTATIONS)}]"
    parent, dot, name = field.rpartition(".")
    return f"{parent}{dot}{_SPELLED.get(name, name)}"


class _Fit(NamedTuple):
    """A VM, and what it is to fit."""

    draft: Draft
    instancetype: Instancetype | None
    preference: Preference
    architecture: str

    def check_spread(self) -> Conflict | None:
        """Whether the vCPUs can be spread as the preference asks."""
        given = self.instancetype.cpu if self.instancetype else None
        return check_vcpus_spread(self.draft.spec.domain.cpu, TEMPLATE_ROOT, given, self.preference)

    def check_requirements(self) -> list[Conflict]:
        """The requirements that the VM would not meet once its conflicts are resolved in the instance type's favour."""
        if self.preference.requirements is None:
            return []
        cpu = self.draft.spec.domain.cpu
        own_vcpus = cpu.guest if cpu else None
        return check_requirements(self.instancetype, self.preference, self._predict(), own_vcpus)

    def _predict(self) -> VirtualMachineInstanceSpec:
        """What is to be started, as far as requirements look at it."""
        spec = self.draft.spec
        given = self.instancetype.memory.guest if self.instancetype and self.instancetype.memory else None
        domain = DomainSpec(
            cpu=copy(spec.domain.cpu),
            memory=copy(spec.domain.memory) if given is None else Memory(guest=given),
            resources=_copy_resources(spec.domain.resources),
            devices=Devices(),
        )
        architecture = spec.architecture or self.preference.preferred_architecture
        predicted = VirtualMachineInstanceSpec(architecture=architecture, domain=domain)
        apply_defaults(predicted, None, self.architecture)
        return predicted


def _copy_resources(resources: ResourceRequirements | None) -> ResourceRequirements | None:
    return replace(resources, requests=dict(resources.requests or {})) if resources else None


def _check_preference(vm: VirtualMachine, fit: _Fit, around: Surroundings) -> Iterator[Remark]:
    uneven, unmet = fit.check_spread(), fit.check_requirements()
    if not uneven and not unmet:
        return
    role = instancetype_role(vm)
    advice = _advise(vm, fit, around)
    if uneven:
        yield Remark("indivisible-spread", _place_size(uneven, role), f"{uneven.message}{advice}")
    for conflict in unmet:
        message = f"failure checking preference requirements: {conflict.message}{advice}"
        yield Remark("unmet-requirement", _place_size(conflict, role), message)


def _place_size(conflict: Conflict, role: Role) -> str:
    """The field of the VM from which a size comes that will not do."""
    field = conflict.fields[0]
    return f"spec.{role}" if field.startswith(("instancetype.", "spec.instancetype")) else field


def _advise(vm: VirtualMachine, fit: _Fit, around: Surroundings) -> str:
    """Name the instance types that would do; none where the VM has a size of its own."""
    matcher = find_matcher(vm, instancetype_role(vm))
    if matcher is None:
        return ""
    present = {conflict.fields for conflict in _check_sizes(fit.draft, fit.instancetype)}

    def would_do(candidate: Instancetype) -> bool:
        other = fit._replace(instancetype=candidate)
        if other.check_requirements() or other.check_spread():
            return False
        return all(conflict.fields in present for conflict in _check_sizes(fit.draft, candidate))

    group = INSTANCETYPE_GROUP if vm.spec.flavor is None else FLAVOR_GROUP
    names = find_nearest(around.list_candidates(group, namespace_of(vm)), would_do, matcher.name or "")
    return f"; {' or '.join(names)} would do" if names else "; no instance type known here would do"
