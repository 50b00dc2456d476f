"""Check a VM against its instance type and preference; requirements are checked even if there are conflicts."""

from collections.abc import Iterable
from copy import copy
from typing import NamedTuple

from msgspec.structs import replace

from virtshape.admission.trialexpansion import check_own_memory
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.domain import DomainSpec, Memory, ResourceRequirements
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.conflicts import check_conflicts
from virtshape.engine.cpu import check_vcpus_spread
from virtshape.engine.defaults import apply_defaults
from virtshape.engine.draft import Draft
from virtshape.engine.memory import is_open
from virtshape.engine.requirements import check_requirements
from virtshape.engine.sizingpolicy import check_asked_size
from virtshape.engine.suggestions import Candidate, find_nearest


class Fit(NamedTuple):
    """A VM draft with an instance type and a preference to check it against."""

    draft: Draft
    instancetype: VirtualMachineInstancetypeSpec | None
    preference: VirtualMachinePreferenceSpec | None
    architecture: str

    def check_sizes(self) -> list[FieldError]:
        """Return the conflicts between the VM and its instance type, and an error or a warning if memory is missing."""
        is_named = self.instancetype is not None
        own = check_own_memory(self.draft.spec.domain, self.instancetype, is_named=is_named)
        if self.instancetype is None:
            return own
        return [*check_conflicts(self.draft, self.instancetype, TEMPLATE_ROOT), *own]

    def check_spread(self) -> FieldError | None:
        """Return a conflict if the vCPUs cannot be spread as the preference asks, otherwise None."""
        given = self.instancetype.cpu if self.instancetype else None
        return check_vcpus_spread(self.draft.spec.domain.cpu, TEMPLATE_ROOT, given, self.preference)

    def check_policy(self) -> list[FieldError]:
        """Return a violation for each size of the VM, vCPUs or memory, that the instance type does not allow."""
        return check_asked_size(self.draft.spec.domain, self.instancetype, TEMPLATE_ROOT)

    def check_requirements(self) -> list[FieldError]:
        """Return the preference's unmet requirements; an instance type's size takes precedence over the VM's size."""
        if self.preference is None or self.preference.requirements is None:
            return []
        cpu = self.draft.spec.domain.cpu
        own_vcpus = cpu.guest if cpu else None
        return check_requirements(self.instancetype, self.preference, self._predict(self.preference), own_vcpus)

    def _predict(self, preference: VirtualMachinePreferenceSpec) -> VirtualMachineInstanceSpec:
        """Return an instance spec with only the fields that requirements depend on, as they are after expansion."""
        spec = self.draft.spec
        given = self.instancetype.memory if self.instancetype else None
        domain = DomainSpec(
            cpu=copy(spec.domain.cpu),
            memory=copy(spec.domain.memory) if given is None or is_open(given) else Memory(guest=given.guest),
            resources=_copy_resources(spec.domain.resources),
            devices=Devices(),
        )
        architecture = spec.architecture or preference.preferred_architecture
        predicted = VirtualMachineInstanceSpec(architecture=architecture, domain=domain)
        apply_defaults(predicted, None, self.architecture)
        return predicted

    def advise(self, candidates: Iterable[Candidate], near_to: str) -> str:
        """Return a message suffix that lists the nearest instance types that fit, or says that none fits."""
        present = {conflict.fields for conflict in self.check_sizes()}

        def would_do(candidate: VirtualMachineInstancetypeSpec) -> bool:
            other = self._replace(instancetype=candidate)
            if other.check_requirements() or other.check_spread() or other.check_policy():
                return False
            return all(conflict.fields in present for conflict in other.check_sizes())

        names = find_nearest(candidates, would_do, near_to)
        return f"; {' or '.join(names)} fits" if names else "; no known instance type fits"


def _copy_resources(resources: ResourceRequirements | None) -> ResourceRequirements | None:
    return replace(resources, requests=dict(resources.requests or {})) if resources else None
