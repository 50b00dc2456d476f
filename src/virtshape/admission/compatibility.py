"""Check whether an instance type is compatible with a preference."""

from virtshape.admission.fit import Fit
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.domain import CPU, DomainSpec, Memory
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.meta import ObjectMeta
from virtshape.engine.draft import Draft
from virtshape.engine.topology import count_vcpus


def check_compatibility(
    instancetype: VirtualMachineInstancetypeSpec, preference: VirtualMachinePreferenceSpec, architecture: str
) -> list[FieldError]:
    """
    Return the conflicts: requirements that the instance type does not meet, and vCPUs that cannot be spread.

    A size that the instance type leaves to the VM counts as sufficient. `architecture` is the default for VMs.
    """
    fit = Fit(_draft_vm(instancetype, preference), instancetype, preference, architecture)
    spread = fit.check_spread()
    return [*fit.check_requirements(), *([spread] if spread is not None else [])]


def _draft_vm(instancetype: VirtualMachineInstancetypeSpec, preference: VirtualMachinePreferenceSpec) -> Draft:
    """Return a VM that chooses exactly the required vCPUs and memory where the instance type leaves them open."""
    domain = DomainSpec(devices=Devices())
    required = preference.requirements
    if required is not None and required.cpu is not None and not count_vcpus(instancetype.cpu):
        domain.cpu = CPU(guest=required.cpu.guest)
    given = instancetype.memory.guest if instancetype.memory else None
    if required is not None and required.memory is not None and (given is None or not given.amount):
        domain.memory = Memory(guest=required.memory.guest)
    return Draft(ObjectMeta(), VirtualMachineInstanceSpec(domain=domain))
