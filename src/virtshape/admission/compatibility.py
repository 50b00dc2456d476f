"""Check whether instance types are compatible with preferences, one pair at a time or all pairs."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Generic, NamedTuple, TypeVar

from virtshape.admission.instancetypefit import Fit
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.domain import CPU, DomainSpec, Memory
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.quantity import Quantity
from virtshape.engine.draft import Draft
from virtshape.engine.lifecycle import ACTIVE, Lifecycle, Use, check_use
from virtshape.engine.memory import is_open
from virtshape.engine.sizingpolicy import has_limits, read_policy
from virtshape.engine.topology import DEFAULT_VCPUS, count_vcpus

S = TypeVar("S")


class NamedSpec(NamedTuple, Generic[S]):
    """The spec, kind and name of an instance type or a preference; `namespace` is empty for cluster-wide objects."""

    kind: str
    name: str
    namespace: str
    spec: S
    lifecycle: Lifecycle = ACTIVE


NamedInstancetype = NamedSpec[VirtualMachineInstancetypeSpec]
NamedPreference = NamedSpec[VirtualMachinePreferenceSpec]


class Pair(NamedTuple):
    """An instance type, a preference, and the reasons why a VM cannot use both."""

    instancetype: NamedInstancetype
    preference: NamedPreference
    problems: list[FieldError]


def check_pairs(
    instancetypes: Sequence[NamedInstancetype], preferences: Sequence[NamedPreference], architecture: str
) -> Iterator[Pair]:
    """Yield the result for each instance type with each preference, ordered by instance type."""
    for instancetype, preference in product(instancetypes, preferences):
        problems = [*_check_retired(instancetype, "instancetype"), *_check_retired(preference, "preference")]
        if instancetype.namespace and preference.namespace and instancetype.namespace != preference.namespace:
            problems.append(_describe_separation(instancetype, preference))
        else:
            problems += check_compatibility(instancetype.spec, preference.spec, architecture)
        yield Pair(instancetype, preference, list(dict.fromkeys(problems)))


def _check_retired(named: NamedSpec[S], role: str) -> list[FieldError]:
    if named.lifecycle.state != "retired":
        return []
    error = check_use(Use(named.kind, named.name, f"spec.{role}", is_new=True), named.lifecycle)
    return [error] if error is not None else []


def _describe_separation(instancetype: NamedInstancetype, preference: NamedPreference) -> FieldError:
    message = (
        f"instance type is in namespace {instancetype.namespace} and preference in {preference.namespace}: "
        "a VM can only use those in its own namespace"
    )
    return FieldError("spec.preference", message)


def check_compatibility(
    instancetype: VirtualMachineInstancetypeSpec, preference: VirtualMachinePreferenceSpec, architecture: str
) -> list[FieldError]:
    """
    Return the conflicts: requirements that the instance type does not meet, and vCPUs that cannot be spread.

    A size that the instance type leaves to the VM counts as sufficient, within the limits of the instance type.
    `architecture` applies to VMs that do not set an architecture.
    """
    fit = Fit(_draft_vm(instancetype, preference), instancetype, preference, architecture)
    spread = fit.check_spread()
    return [*fit.check_requirements(), *([spread] if spread is not None else [])]


def _draft_vm(instancetype: VirtualMachineInstancetypeSpec, preference: VirtualMachinePreferenceSpec) -> Draft:
    """
    Return the draft of a VM that could use the instance type and the preference.

    The draft sets vCPUs or memory only if the instance type leaves them to the VM and the preference requires a value:
    the draft then has the required value, or the nearest value that the instance type allows.
    """
    domain = DomainSpec(devices=Devices())
    required = preference.requirements
    vcpus = required.cpu.guest if required and required.cpu else None
    memory = required.memory.guest if required and required.memory else None
    if has_limits(instancetype) and (vcpus or memory):
        policy, asked = read_policy(instancetype), (vcpus or DEFAULT_VCPUS, memory or Quantity("1"))
        size = policy.find_size(*asked) or policy.find_nearest_size(*asked)
        if size is not None:
            vcpus, memory = vcpus and size.vcpus, memory and size.memory
    if vcpus is not None and not count_vcpus(instancetype.cpu):
        domain.cpu = CPU(guest=vcpus)
    if memory is not None and is_open(instancetype.memory):
        domain.memory = Memory(guest=memory)
    return Draft(ObjectMeta(), VirtualMachineInstanceSpec(domain=domain))
