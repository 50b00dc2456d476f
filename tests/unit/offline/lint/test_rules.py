"""Every lint rule has a failing case, and valid manifests have no findings."""

import re
from pathlib import Path
from typing import get_args

import pytest
from tests.support.linting import build_manifest, claim, documents, instancetype, lint, vm
from tests.unit.offline.lint import (
    test_configuration,
    test_decoding,
    test_fit,
    test_host_access,
    test_machine,
    test_references,
    test_sizing,
)

from virtshape.offline.lint import RULES, Level

COVERED_ELSEWHERE = {
    "unused-ignore",  # tested in test_suppress.py
    *(name for name in RULES if name.startswith("target-")),  # tested in test_targets.py
}
DOCUMENT = Path(__file__).parents[4] / "docs" / "lint.md"
SMALL = "instancetype: {name: small}"
LIKED = "preference: {name: liked}"
SIZELESS = instancetype("{}", name="small")
PVC = "volumes:\n- name: root\n  persistentVolumeClaim: {claimName: disk}"
INFER = "instancetype:\n  inferFromVolume: root"
IGNORE = f"{INFER}\n  inferFromVolumeFailurePolicy: Ignore"
NAMES_SMALL = "labels: {instancetype.kubevirt.io/default-instancetype: small}"


def test_every_lint_rule_has_a_test_case() -> None:
    modules = (
        test_configuration,
        test_fit,
        test_host_access,
        test_machine,
        test_decoding,
        test_references,
        test_sizing,
    )
    tables = [module.CASES for module in modules]
    broken = {case.rule for table in tables for case in table.values()}
    assert broken | COVERED_ELSEWHERE == set(RULES)


@pytest.mark.parametrize("name", RULES)
def test_lint_rule_has_an_id_a_level_a_title_and_advice(name: str) -> None:
    rule = RULES[name]
    assert rule.id == name
    assert name == name.lower().replace("_", "-").replace(" ", "-")
    assert rule.level in get_args(Level)
    assert rule.title[0].isupper()
    assert not rule.title.endswith(".")
    assert rule.advice.endswith(".")


CLEAN = {
    "VM with its own size": vm(),
    "memory as a request": vm(domain="resources: {requests: {memory: 1Gi}}"),
    "instance type in the same file": documents(vm(spec=SMALL, domain=""), instancetype()),
    "namespaced instance type": documents(
        build_manifest("VirtualMachineInstancetype", "cpu: {guest: 1}\nmemory: {guest: 1Gi}"),
        vm(spec="instancetype: {name: small, kind: virtualmachineinstancetypes}", domain=""),
    ),
    "size with an instance type without a size": documents(
        SIZELESS, vm(spec=SMALL, domain="memory: {guest: 1Gi}\ncpu: {guest: 2}")
    ),
    "inferred from a claim": documents(claim(NAMES_SMALL), instancetype(), vm(spec=INFER, template=PVC, domain="")),
    "inferred with a size": documents(claim(NAMES_SMALL), instancetype(), vm(spec=IGNORE, template=PVC)),
    "flavor with a flavor preference": documents(
        build_manifest(
            "VirtualMachineClusterFlavor",
            "cpu: {guest: 2}\nmemory: {guest: 2Gi}",
            version="flavor.kubevirt.io/v1alpha1",
        ),
        build_manifest(
            "VirtualMachineClusterPreference",
            "cpu: {preferredCPUTopology: preferCores}\nfirmware: {preferredUseBios: true}",
            name="liked",
            version="flavor.kubevirt.io/v1alpha1",
        ),
        vm(spec=f"flavor: {{name: small}}\n{LIKED}", domain=""),
    ),
    "exported VM whose captured revision is not in the files": documents(
        instancetype(),
        vm(spec=SMALL, domain="")
        + "status:\n  instancetypeRef: {name: small, controllerRevisionRef: {name: web-small-1}}\n",
    ),
    "null in labels, which the server drops": vm(name="name: web\nlabels: {app: null}"),
    "volumes without disks": vm(template="volumes: [{name: root, containerDisk: {image: i}}]"),
    "generateName": vm(name="generateName: web-"),
    "the same name in two namespaces": documents(vm(), vm(name="name: web\nnamespace: other")),
    "unrelated kinds": documents(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: A_B}\nspec: {anything: goes}\n",
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceMigration\nmetadata: {name: m}\nspec: {vmiName: a}\n",
    ),
    "unknown fields of a claim": claim("unheardOf: true"),
    "only a comment": "# nothing\n",
    "as JSON": '{"apiVersion": "v1", "kind": "List", "items": []}',
}


@pytest.mark.parametrize("text", CLEAN.values(), ids=CLEAN)
def test_valid_manifest_has_no_findings(text: str) -> None:
    assert lint(text) == []


@pytest.mark.parametrize("name", RULES)
def test_lint_rule_is_documented(name: str) -> None:
    rule = RULES[name]
    row = f"| `{name}` | {rule.level} | {rule.title}. | {rule.advice} |"
    assert row in DOCUMENT.read_text().splitlines()


def test_documentation_lists_only_existing_lint_rules() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (?:error|warning|note) \|", DOCUMENT.read_text(), re.MULTILINE)
    assert rows == list(RULES)
