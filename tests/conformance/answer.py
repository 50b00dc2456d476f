"""
Answer conformance vectors: read JSON lines {"id", "op", "input"}, and write {"id", "result"} for each.

    python check.py FOLDER -- python -m tests.conformance.answer
"""

import json
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.support.admission import dry_run_vm, mutate_vm
from tests.support.objects import object_from_tree

from virtshape.admission.checkresult import CheckResult
from virtshape.admission.instancetype import check_instancetype, check_preference
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.problems import DecodeError
from virtshape.api.status import StatusError
from virtshape.controllers.vm.newvmi import ROOT, annotate_names, refuse_conflicts
from virtshape.engine.apply import apply
from virtshape.engine.conflicts import describe_conflicts
from virtshape.engine.cpu import check_vcpus_spread
from virtshape.engine.draft import Draft
from virtshape.engine.expand import Shape, draft_template, expand_vm
from virtshape.engine.requirements import check_requirements
from virtshape.offline.objects import Objects
from virtshape.resolve.find import (
    default_layout,
    find_object,
    get_shape,
    instancetype_role,
    instancetype_spec,
    preference_spec,
)
from virtshape.resolve.infer import infer_matchers
from virtshape.resolve.reference import NotFoundError

EMPTY_SPEC: JsonObject = {"domain": {"devices": {}}}


def answer_apply(question: JsonObject) -> JsonObject:
    instancetype, preference, spec = _specs(question)
    draft = Draft(from_tree(question.get("vmiMetadata") or {}, ObjectMeta), spec)
    conflicts = apply(draft, instancetype, preference, root=question.get("fieldPath", "spec.template.spec"))
    if conflicts:
        return {**_conflicts(conflicts), "causes": _causes(conflicts)}
    return {"vmiSpec": to_tree(draft.spec), "vmiMetadata": to_tree(draft.metadata)}


def answer_expand(question: JsonObject) -> JsonObject:
    vm, objects = _vm_and_objects(question)
    shape = get_shape(vm, objects.find)
    conflicts = expand_vm(vm, shape, _configuration(question), question.get("defaultArchitecture", "amd64"))
    return _conflicts(conflicts) if conflicts else {"vm": to_tree(vm)}


def answer_requirements(question: JsonObject) -> JsonObject:
    instancetype, preference, spec = _specs(question)
    unmet = check_requirements(instancetype, preference, spec)
    if not unmet:
        return {"met": True}
    return {"met": False, **_conflicts(unmet), "field": ", ".join(unmet[0].fields)}


def answer_spread_check(question: JsonObject) -> JsonObject:
    instancetype, preference, spec = _specs(question)
    given = instancetype.cpu if instancetype else None
    conflict = check_vcpus_spread(spec.domain.cpu, "spec.template.spec", given, preference)
    if conflict is None:
        return {"conflict": None}
    return {"conflict": conflict.fields[0], "error": conflict.message, "causes": _causes([conflict])}


def answer_validate_instancetype(question: JsonObject) -> JsonObject:
    def list_causes(found: Any) -> CheckResult:
        return check_instancetype(found.spec, found.api_version.partition("/")[2])

    return _validate(question, list_causes)


def answer_validate_preference(question: JsonObject) -> JsonObject:
    return _validate(question, lambda found: check_preference(found.spec))


def answer_matcher(question: JsonObject) -> JsonObject:
    vm, objects = _vm_and_objects(question)
    old = from_tree(question["oldVM"], VirtualMachine) if question["operation"] == "UPDATE" else None
    try:
        return {"allowed": True, "vm": to_tree(mutate_vm(vm, objects, old).vm)}
    except StatusError as error:
        return _refusal(error)


def answer_infer(question: JsonObject) -> JsonObject:
    vm, objects = _vm_and_objects(question)
    infer_matchers(vm, objects.find)
    return {
        "instancetype": to_tree(vm.spec.instancetype),
        "preference": to_tree(vm.spec.preference),
        "vm": to_tree(vm),
    }


def answer_admit_vm(question: JsonObject) -> JsonObject:
    vm, objects = _vm_and_objects(question)
    dry_run = dry_run_vm(vm, _find_present_shape(vm, objects), _configuration(question))
    conflicts = dry_run.conflicts or dry_run.unmet
    return {"allowed": False, "causes": _causes(conflicts)} if conflicts else {"allowed": True}


def answer_start_vmi(question: JsonObject) -> JsonObject:
    vm, objects = _vm_and_objects(question)
    shape = get_shape(vm, objects.find)
    draft = draft_template(vm)
    annotate_names(vm, draft.metadata)
    refuse_conflicts(apply(draft, shape.instancetype, shape.preference, root=ROOT, layout=shape.layout))
    return {"vmiSpec": to_tree(draft.spec), "vmiMetadata": to_tree(draft.metadata)}


def answer_annotations(question: JsonObject) -> JsonObject:
    metadata = from_tree(question.get("vmiMetadata") or {}, ObjectMeta)
    annotate_names(from_tree(question["vm"], VirtualMachine), metadata)
    return {"vmiMetadata": to_tree(metadata)}


def _find_present_shape(vm: VirtualMachine, objects: Objects) -> Shape:
    """Return the instance type and preference of a VM; like KubeVirt's webhook, ignore those that do not exist."""
    instancetype = preference = None
    with suppress(NotFoundError):
        instancetype = instancetype_spec(find_object(vm, instancetype_role(vm), objects.find))
    with suppress(NotFoundError):
        preference = preference_spec(find_object(vm, "preference", objects.find))
    return Shape(instancetype, preference, default_layout(vm))


def _validate(question: JsonObject, list_causes: Callable[[Any], CheckResult]) -> JsonObject:
    if question["operation"] not in ("CREATE", "UPDATE"):
        return {"allowed": True}
    try:
        verdict = list_causes(object_from_tree(question["object"]))
    except DecodeError as error:
        return _refusal(error)
    if verdict.causes:
        message = ", ".join(cause.message for cause in verdict.causes)
        return _refusal(StatusError(422, "Invalid", message, verdict.causes))
    return {"allowed": True, "warnings": verdict.warnings}


def _refusal(error: StatusError) -> JsonObject:
    refusal: JsonObject = {"allowed": False, "message": error.message, "code": error.code}
    if error.code == 422 and error.causes:  # KubeVirt returns causes only with this code
        refusal |= {"reason": error.reason, "causes": _causes(error.causes)}
    return refusal


def _conflicts(conflicts: list[FieldError]) -> JsonObject:
    fields = [field for conflict in conflicts for field in conflict.fields]
    return {"conflicts": fields, "error": describe_conflicts(conflicts)}


def _causes(found: list[FieldError] | tuple[FieldError, ...]) -> list[JsonObject]:
    return [{"type": cause.reason, "message": cause.message, "field": cause.field} for cause in found]


def _configuration(question: JsonObject) -> KubeVirtConfiguration | None:
    return from_tree(question.get("configuration") or {}, KubeVirtConfiguration)


def _vm_and_objects(question: JsonObject) -> tuple[VirtualMachine, Objects]:
    objects = Objects(object_from_tree(tree) for tree in question.get("objects") or ())
    return from_tree(question["vm"], VirtualMachine), objects


def _specs(
    question: JsonObject,
) -> tuple[VirtualMachineInstancetypeSpec | None, VirtualMachinePreferenceSpec | None, VirtualMachineInstanceSpec]:
    instancetype, preference = question.get("instancetypeSpec"), question.get("preferenceSpec")
    return (
        None if instancetype is None else from_tree(instancetype, VirtualMachineInstancetypeSpec),
        None if preference is None else from_tree(preference, VirtualMachinePreferenceSpec),
        from_tree(question.get("vmiSpec") or EMPTY_SPEC, VirtualMachineInstanceSpec),
    )


ANSWERS: dict[str, Callable[[JsonObject], JsonObject]] = {
    "apply": answer_apply,
    "expand": answer_expand,
    "requirements": answer_requirements,
    "spreadCheck": answer_spread_check,
    "validateInstancetype": answer_validate_instancetype,
    "validatePreference": answer_validate_preference,
    "matcher": answer_matcher,
    "infer": answer_infer,
    "admitVM": answer_admit_vm,
    "startVMI": answer_start_vmi,
    "annotations": answer_annotations,
}


def answer(op: str, question: JsonObject) -> JsonObject:
    """Return virtshape's result for one vector."""
    try:
        return ANSWERS[op](question)
    except StatusError as error:
        return {"error": error.message}


def main() -> None:
    """Write a result for every line of standard input."""
    for line in sys.stdin:
        question = json.loads(line)
        try:
            result = answer(question["op"], question["input"])
        except Exception:  # noqa: BLE001 - the protocol reports crashes
            traceback.print_exc()
            result = {"crash": True}
        sys.stdout.write(json.dumps({"id": question["id"], "result": result}) + "\n")


if __name__ == "__main__":
    main()
