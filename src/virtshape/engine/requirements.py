"""Requirements of a preference: minimum vCPUs, minimum memory, and the architecture."""

from collections.abc import Iterator

from virtshape.api.fielderror import VALUE_NOT_FOUND, FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.domain import CPU
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.quantity import Quantity
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.topology import DEFAULT_VCPUS, count_vcpus, preferred_topology, spread_options

_INSTANCETYPE = "spec.instancetype"
_CPU = f"{TEMPLATE_ROOT}.domain.cpu"
_MEMORY = f"{TEMPLATE_ROOT}.domain.memory"
_ARCHITECTURE = f"{TEMPLATE_ROOT}.architecture"
_SPREAD_MEMBERS = {
    "SocketsCoresThreads": ("sockets", "cores", "threads"),
    "SocketsCores": ("sockets", "cores"),
    "CoresThreads": ("cores", "threads"),
}


def check_requirements(
    instancetype: VirtualMachineInstancetypeSpec | None,
    preference: VirtualMachinePreferenceSpec | None,
    spec: VirtualMachineInstanceSpec,
    own_vcpus: int | None = None,
) -> list[FieldError]:
    """Return an error for each unmet requirement; `own_vcpus` is the VM's `cpu.guest`, which `apply` removes."""
    requirements = preference.requirements if preference else None
    if preference is None or requirements is None:
        return []
    unmet: list[FieldError] = []
    if requirements.cpu is not None:
        if own_vcpus is None and spec.domain.cpu is not None:
            own_vcpus = spec.domain.cpu.guest
        unmet += _check_cpu(instancetype, preference, spec.domain.cpu, own_vcpus, requirements.cpu.guest)
    if requirements.memory is not None:
        unmet += _check_memory(instancetype, spec, requirements.memory.guest)
    if requirements.architecture is not None and requirements.architecture != (spec.architecture or ""):
        message = (
            f"preference requires architecture {requirements.architecture} "
            f"but {spec.architecture or ''} is being requested"
        )
        unmet.append(_unmet(message, _ARCHITECTURE))
    return unmet


def _check_cpu(
    instancetype: VirtualMachineInstancetypeSpec | None,
    preference: VirtualMachinePreferenceSpec,
    cpu: CPU | None,
    own_vcpus: int | None,
    required: int,
) -> Iterator[FieldError]:
    given = count_vcpus(instancetype.cpu) if instancetype else 0
    if instancetype is not None and not given and own_vcpus is None:
        own_vcpus = DEFAULT_VCPUS
    if given:
        if given < required:
            yield _too_few_vcpus(given, "instance type", required, "", _INSTANCETYPE)
    elif own_vcpus is not None:
        if own_vcpus < required:
            yield _too_few_vcpus(own_vcpus, "VirtualMachine", required, "", f"{_CPU}.guest")
    elif cpu is None:
        yield _unmet(f"no CPU resources provided by VirtualMachine, preference requires {required} vCPU", _CPU)
    else:
        shape, members = _counted_members(preference)
        given = 1 if members else 0
        for member in members:
            given = given * (getattr(cpu, member) or 0) % 2**32  # KubeVirt counts vCPUs with 32-bit integers
        if given < required:
            fields = [f"{_CPU}.{member}" for member in members] or [_CPU]
            yield _too_few_vcpus(given, "VirtualMachine", required, f" provided as {shape}", *fields)


def _counted_members(preference: VirtualMachinePreferenceSpec) -> tuple[str, tuple[str, ...]]:
    """Return the VM's CPU fields whose product must meet the requirement: a text for messages, and their names."""
    match preferred_topology(preference):
        case "cores":
            return "cores", ("cores",)
        case "threads":
            return "threads", ("threads",)
        case "any":
            return "cores, sockets and threads", ("cores", "sockets", "threads")
        case "spread":
            _, across = spread_options(preference)
            return across, _SPREAD_MEMBERS.get(across, ())  # admission rejects other names in new preferences
        case _:
            return "sockets", ("sockets",)


def _check_memory(
    instancetype: VirtualMachineInstancetypeSpec | None, spec: VirtualMachineInstanceSpec, required: Quantity
) -> Iterator[FieldError]:
    typed = instancetype.memory.guest if instancetype and instancetype.memory else None
    own = spec.domain.memory.guest if spec.domain.memory else None
    given = own if own is not None else typed if typed is not None else Quantity("0")
    if given.amount >= required.amount:
        return
    source, field = ("instance type", _INSTANCETYPE) if typed is not None else ("VirtualMachine", _MEMORY)
    yield _unmet(
        f"insufficient Memory resources of {given} provided by {source}, preference requires {required}", field
    )


def _too_few_vcpus(given: int, source: str, required: int, shape: str, *fields: str) -> FieldError:
    message = (
        f"insufficient CPU resources of {given} vCPU provided by {source}, preference requires {required} vCPU{shape}"
    )
    return _unmet(message, *fields)


def _unmet(message: str, *fields: str) -> FieldError:
    return FieldError(", ".join(fields), message, VALUE_NOT_FOUND, "unmet-requirement")
