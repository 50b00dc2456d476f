"""Lint findings for references of VMs, by name or through a volume."""

import pytest
from tests.support.linting import Case, assert_findings, build_manifest, claim, documents, instancetype, vm

PVC = "volumes:\n- name: root\n  persistentVolumeClaim: {claimName: disk}"
INFER = "instancetype:\n  §inferFromVolume: root"
IGNORE = f"{INFER}\n  inferFromVolumeFailurePolicy: Ignore"
REVISION = """\
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: r}
revision: 1
data: {kind: X, apiVersion: v1}
"""
NAMES_SMALL = "labels: {instancetype.kubevirt.io/default-instancetype: small}"

CASES = {
    "a name and a volume": Case(
        "invalid-matcher",
        vm(spec="instancetype: {§name: small, inferFromVolume: root}"),
        "Name already set, should be cleared before setting inferFromVolume",
    ),
    "neither a name nor a volume": Case(
        "invalid-matcher", vm(spec="§preference: {}"), "Either Name or InferFromVolume should be provided"
    ),
    "a failure policy made up": Case(
        "invalid-matcher",
        vm(spec="instancetype: {inferFromVolume: root, §inferFromVolumeFailurePolicy: Retry}"),
        "Invalid value 'Retry'",
    ),
    "a flavor beside an instance type": Case(
        "invalid-matcher", vm(spec="instancetype: {name: small}\n§flavor: {name: small}"), "mutually exclusive"
    ),
    "a kind that there is not": Case(
        "matcher-kind",
        vm(spec="instancetype: {name: small, §kind: Deployment}"),
        "got unexpected kind in InstancetypeMatcher: Deployment; use VirtualMachineClusterInstancetype or",
    ),
    "an instance type misspelt": Case(
        "missing-reference",
        vm(spec="instancetype: {§name: u1.medum}", domain=""),
        '"u1.medum" not found; did you mean u1.medium or',
        catalog=True,
    ),
    "an instance type of nowhere": Case(
        "missing-reference", vm(spec="instancetype: {§name: small}"), "or check the file that defines it too"
    ),
    "a preference misspelt": Case(
        "missing-reference", vm(spec="preference: {§name: fedra}"), "did you mean fedora", catalog=True
    ),
    "a flavor of nowhere": Case("missing-reference", vm(spec="flavor: {§name: tiny}"), 'flavor.kubevirt.io "tiny" not'),
    "an instance type of the namespace without its kind": Case(
        "missing-reference",
        documents(
            build_manifest("VirtualMachineInstancetype", "cpu: {guest: 1}\nmemory: {guest: 1Gi}"),
            vm(spec="instancetype: {§name: small}"),
        ),
        "there is a VirtualMachineInstancetype of this name: set spec.instancetype.kind to it",
    ),
    "an instance type of another namespace": Case(
        "missing-reference",
        documents(
            build_manifest("VirtualMachineInstancetype", "cpu: {guest: 1}\nmemory: {guest: 1Gi}").replace(
                "name: small", "name: small, namespace: other"
            ),
            vm(spec="instancetype: {§name: small, kind: VirtualMachineInstancetype}"),
        ),
        '"small" not found',
    ),
    "a name inferred that means nothing": Case(
        "missing-reference",
        documents(claim(NAMES_SMALL), vm(spec="§instancetype:\n  inferFromVolume: root", template=PVC)),
        '"small" not found: correct the name, or check the file that defines it too (inferred from volume root)',
    ),
    "a revision of nowhere": Case(
        "missing-revision",
        documents(instancetype(), vm(spec="instancetype: {name: small, §revisionName: web-small-1}", domain="")),
        '"web-small-1" not found: remove it to use the current instance type',
    ),
    "a revision of something else": Case(
        "invalid-revision",
        documents(
            REVISION,
            vm(spec="instancetype: {name: small, §revisionName: r}"),
        ),
        "unexpected type in ControllerRevision",
    ),
    "a claim that is elsewhere": Case(
        "inference-unknown",
        vm(spec=INFER, template=PVC),
        'the instance type cannot be inferred from the files: persistentvolumeclaims "disk" not found in the files',
    ),
    "a claim misspelt": Case(
        "inference-unknown",
        documents(claim(name="disks"), vm(spec=INFER, template=PVC)),
        '"disk" not found in the files; did you mean disks?',
    ),
    "a claim that is elsewhere, with a way out": Case(
        "inference-unknown",
        vm(spec=IGNORE, template=PVC),
        "if it has no default, the VM gets only its own 1Gi of memory",
    ),
    "a volume that the VM has not": Case(
        "inference-failed", vm(spec=INFER), "unable to find volume root to infer defaults"
    ),
    "a claim that names nothing": Case(
        "inference-failed",
        documents(claim(), vm(spec=INFER, template=PVC)),
        "set it, or the annotation instancetype.kubevirt.io/defaultInstancetype",
    ),
    "a volume that has nothing to say": Case(
        "inference-ignored",
        vm(spec=IGNORE, template="volumes: [{name: root, containerDisk: {image: i}}]", domain="memory: {guest: 512Mi}"),
        "the VM has no instancetype: it gets only its own 512Mi of memory",
    ),
    "a preference that cannot be inferred": Case(
        "preference-ignored",
        vm(
            spec=IGNORE.replace("instancetype", "preference"),
            template="volumes: [{name: root, containerDisk: {image: i}}]",
        ),
        "the VM has no preference",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_invalid_reference_is_reported_at_its_position(case: Case) -> None:
    assert_findings(case)
