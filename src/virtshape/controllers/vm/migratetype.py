"""
Plan the move of a VM to another instance type or preference: the differences, and the effect on its instance.

The functions change no objects.
"""

from contextlib import suppress
from typing import Any

from virtshape.api.codec import duplicate
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.controllers.vm.liveupdate import decide_live_change
from virtshape.controllers.vm.newvmi import firmware_uuid, make_instance
from virtshape.controllers.vm.upgrade import compare_instances
from virtshape.controllers.vm.volumerequests import predict_volumes
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.conflicts import describe_conflicts
from virtshape.engine.cpu import check_vcpus_spread
from virtshape.engine.expand import Shape, expand_vm
from virtshape.engine.lifecycle import RETIRED_REFERENCE, Use, check_use, read_lifecycle
from virtshape.engine.machinetype import default_architecture
from virtshape.engine.requirements import check_requirements
from virtshape.engine.sizingpolicy import check_asked_size
from virtshape.resolve.drift import compare_objects
from virtshape.resolve.find import find_object, get_shape, refer
from virtshape.resolve.matcher import FLAVOR_GROUP, Role, find_matcher
from virtshape.resolve.move import Applies, Destination, Move, role_before, with_destination, write_move
from virtshape.resolve.reference import Lookup, NotFoundError


def plan_move(
    vm: VirtualMachine,
    vmi: VirtualMachineInstance | None,
    to: Destination,
    lookup: Lookup,
    configuration: KubeVirtConfiguration | None = None,
) -> Move:
    """Return the planned move of a VM and its instance, if any; raise StatusError if an object is missing."""
    moved = with_destination(vm, to)
    role = role_before(vm, to)
    before, after = find_matcher(vm, role), find_matcher(moved, to.role)
    assert after is not None  # noqa: S101 - it was just set
    old = refer(vm, role, before) if before is not None else None
    new = refer(moved, to.role, after)
    target: Any = lookup(new)
    if target is None:
        raise NotFoundError(new, f"spec.{to.role}.name")
    shape = _get_shape(moved, role, lookup)
    use = Use(to.kind, to.name, f"spec.{to.role}.name", is_new=old != new)
    outdated = check_use(use, read_lifecycle(target.metadata))
    problems = [outdated.message] if outdated is not None and outdated.rule == RETIRED_REFERENCE else []
    warnings = [outdated.message] if outdated is not None and not problems else []
    problems += _check_fit(moved, shape, configuration)
    fields = changes = None
    with suppress(StatusError):  # both are None if the stored revision was deleted
        used = find_object(vm, role, lookup)
        fields = compare_objects(used, target) if used is not None else None
        changes = None if problems else list(compare_instances(vm, moved, lookup, configuration))
    applies, reason = _decide_effect(moved, None if problems else vmi, shape, configuration)
    return Move(old, new, fields, changes, applies, reason, problems, warnings, write_move(vm, to))


def _get_shape(moved: VirtualMachine, role: Role, lookup: Lookup) -> Shape:
    """Return the instance type and preference of the moved VM; raise StatusError if one is missing."""
    try:
        return get_shape(moved, lookup)
    except NotFoundError as error:
        if role != "flavor" or not error.field.startswith("spec.preference"):
            raise
        message = f"{error.message}: the VM uses the preference of this name in {FLAVOR_GROUP}; create it first"
        raise StatusError(404, "NotFound", message, [FieldError(error.field, message, "FieldValueNotFound")]) from None


def _check_fit(vm: VirtualMachine, shape: Shape, configuration: KubeVirtConfiguration | None) -> list[str]:
    """
    Return the problems with the VM's sizes, and its conflicts with the instance type.

    If there are no conflicts, also return the unmet requirements of the preference.
    """
    trial = duplicate(vm)
    template = trial.spec.template.spec
    cpu = template.domain.cpu if template is not None else None
    own_vcpus = cpu.guest if cpu is not None else None
    given = shape.instancetype.cpu if shape.instancetype is not None else None
    uneven = check_vcpus_spread(cpu, TEMPLATE_ROOT, given, shape.preference)
    problems = [uneven.message] if uneven is not None else []
    if template is not None:
        asked = check_asked_size(template.domain, shape.instancetype, TEMPLATE_ROOT)
        problems += [problem.message for problem in asked]
    conflicts = expand_vm(trial, duplicate(shape), configuration, default_architecture(configuration))
    if conflicts:
        return [*problems, describe_conflicts(conflicts)]
    expanded = trial.spec.template.spec
    assert expanded is not None  # noqa: S101 - expansion creates it
    unmet = check_requirements(shape.instancetype, shape.preference, expanded, own_vcpus)
    return problems + [f"failure checking preference requirements: {one.message}" for one in unmet]


def _decide_effect(
    vm: VirtualMachine, vmi: VirtualMachineInstance | None, shape: Shape, configuration: KubeVirtConfiguration | None
) -> tuple[Applies, str]:
    """Return the time at which the instance changes, and the reason for a restart (empty if none is needed)."""
    if vmi is None:
        return "at start", ""
    architecture = default_architecture(configuration)
    _, wanted = make_instance(vm, shape, configuration, architecture, firmware_uuid=firmware_uuid(vm))
    change = decide_live_change(predict_volumes(vmi, wanted), wanted, configuration)
    return ("at restart", change.restart_reason) if change.restart_reason else ("immediately", "")
