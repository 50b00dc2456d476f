"""What a VM may say beside its guest."""

from typing import Any

import pytest
from tests.build import Tree, build_vm

from virtshape.admission.rules.machine import check_machine
from virtshape.admission.violation import split

USED: Tree = {"volumes": [{"name": "root", "dataVolume": {"name": "dv"}}]}
TEMPLATE: Tree = {"metadata": {"name": "dv"}, "spec": {"storage": {}}}
AT = "spec.dataVolumeTemplates"

CASES: dict[str, tuple[Any, list[str], list[str]]] = {
    "a strategy": (build_vm(runStrategy="Once"), [], []),
    "no strategy": (build_vm(runStrategy=None), ["RunStrategy must be specified"], []),
    "a strategy that is none": (build_vm(runStrategy="Alway"), ["Invalid RunStrategy (Alway)"], []),
    "both ways to run": (build_vm(running=True), ["Running and RunStrategy are mutually exclusive"], ["spec.running"]),
    "the older way to run": (build_vm(runStrategy=None, running=False), [], ["spec.running is deprecated"]),
    "a volume strategy that is none": (build_vm(updateVolumesStrategy="Swap"), ['"Swap" is not supported'], []),
    "a template in use": (build_vm(template=USED, dataVolumeTemplates=[TEMPLATE]), [], []),
    "a template that nothing uses": (build_vm(dataVolumeTemplates=[TEMPLATE]), [], ["DataVolumeTemplate entry"]),
    "a template of no name": (
        build_vm(dataVolumeTemplates=[{"spec": {}}]),
        ["'name' field must not be empty for DataVolumeTemplate"],
        [],
    ),
    "two templates of a name": (
        build_vm(template=USED, dataVolumeTemplates=[TEMPLATE, TEMPLATE]),
        ["two DataVolumeTemplates are named dv"],
        [],
    ),
    "a template of two claims": (
        build_vm(template=USED, dataVolumeTemplates=[{**TEMPLATE, "spec": {"storage": {}, "pvc": {}}}]),
        ["Duplicate storage definition"],
        [],
    ),
}


@pytest.mark.parametrize(("vm", "refusals", "warnings"), CASES.values(), ids=CASES)
def test_a_vm_is_refused_or_warned_of(vm: Any, refusals: list[str], warnings: list[str]) -> None:
    verdict = split(check_machine(vm))
    told = [cause.message for cause in verdict.causes], verdict.warnings
    for messages, beginnings in zip(told, (refusals, warnings), strict=True):
        assert len(messages) == len(beginnings), messages
        assert all(words.startswith(begin) for words, begin in zip(messages, beginnings, strict=True)), messages
