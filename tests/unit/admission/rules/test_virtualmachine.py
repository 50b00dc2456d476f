"""Validation of VM fields outside the instance spec."""

from typing import Any

import pytest
from tests.support.build import build_vm

from virtshape.admission.checkresult import split_violations
from virtshape.admission.rules.virtualmachine import check_vm_without_guest
from virtshape.api.model import JsonObject

USED: JsonObject = {"volumes": [{"name": "root", "dataVolume": {"name": "dv"}}]}
CLAIMED: JsonObject = {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "dv"}}]}
BLANK: JsonObject = {"storage": {}, "source": {"blank": {}}}
POPULATED: JsonObject = {"storage": {"dataSource": {"kind": "VolumeSnapshot", "name": "s"}}}


def templates(*specs: JsonObject, used: JsonObject = USED, **metadata: str) -> Any:
    """Build a VM with one DataVolume template per spec; all templates have the same name."""
    listed = [{"metadata": {"name": "dv", **metadata}, "spec": spec} for spec in specs]
    return build_vm(template=used, dataVolumeTemplates=listed)


def labelled(**labels: str) -> Any:
    vm = build_vm(annotations={})
    assert vm.spec.template.metadata is not None
    vm.spec.template.metadata.labels = labels
    return vm


CASES: dict[str, tuple[Any, list[str], list[str]]] = {
    "valid run strategy": (build_vm(runStrategy="Once"), [], []),
    "no run strategy": (build_vm(runStrategy=None), ["RunStrategy must be specified"], []),
    "unknown run strategy": (build_vm(runStrategy="Alway"), ["Invalid RunStrategy (Alway)"], []),
    "running and run strategy": (
        build_vm(running=True),
        ["Running and RunStrategy are mutually exclusive"],
        ["spec.running"],
    ),
    "deprecated running field": (build_vm(runStrategy=None, running=False), [], ["spec.running is deprecated"]),
    "unknown volume update strategy": (build_vm(updateVolumesStrategy="Swap"), ['"Swap" is not supported'], []),
    "template used as a DataVolume": (templates(BLANK), [], []),
    "template used as a claim": (templates(BLANK, used=CLAIMED), [], []),
    "template with a volume populator": (templates(POPULATED), [], []),
    "unused template": (
        templates(BLANK, used={}),
        ["DataVolumeTemplate entry spec.dataVolumeTemplates[0] must be referenced in the VMI template's"],
        [],
    ),
    "template without a name": (
        build_vm(dataVolumeTemplates=[{"spec": BLANK}]),
        ["'name' field must not be empty for DataVolumeTemplate"],
        [],
    ),
    "duplicate template name": (templates(BLANK, BLANK), ["two DataVolumeTemplates are named dv"], []),
    "template in another namespace": (
        templates(BLANK, namespace="other"),
        ["Embedded DataVolume namespace other differs from VM namespace default"],
        [],
    ),
    "template with pvc and storage": (templates({**BLANK, "pvc": {}}), ["Duplicate storage definition"], []),
    "template without pvc and storage": (
        templates({"source": {"blank": {}}}),
        ["Missing Data volume PVC or Storage"],
        [],
    ),
    "template without a source": (
        templates({"storage": {}}),
        ["Data volume should have either Source, SourceRef, or be externally populated"],
        [],
    ),
    "template with an empty source": (
        templates({"storage": {}, "source": {}}),
        ["Missing dataVolume valid source"],
        [],
    ),
    "template with two sources": (
        templates({"storage": {}, "source": {"blank": {}, "upload": {}}}),
        ["Multiple dataVolume sources"],
        ["Multiple Data volume sources"],
    ),
    "template with a source and a data source reference": (
        templates({**POPULATED, "source": {"blank": {}}}),
        ["External population is incompatible with Source and SourceRef"],
        [],
    ),
    "ordinary labels": (labelled(app="web"), [], []),
    "reserved label": (
        labelled(**{"kubevirt.io/nodeName": "node1"}),
        ["creation of the following reserved kubevirt.io/ labels on a VMI object is prohibited: kubevirt.io/nodeName"],
        [],
    ),
}


@pytest.mark.parametrize(("vm", "refusals", "warnings"), CASES.values(), ids=CASES)
def test_vm_has_exactly_the_expected_errors_and_warnings(vm: Any, refusals: list[str], warnings: list[str]) -> None:
    result = split_violations(check_vm_without_guest(vm))
    reported = [cause.message for cause in result.causes], result.warnings
    for messages, beginnings in zip(reported, (refusals, warnings), strict=True):
        assert len(messages) == len(beginnings), messages
        assert all(reason.startswith(begin) for reason, begin in zip(messages, beginnings, strict=True)), messages
