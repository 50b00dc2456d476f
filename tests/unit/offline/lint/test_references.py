"""Lint findings for references of VMs, by name or through a volume."""

import pytest
from tests.support.linting import Case, assert_findings, build_manifest, claim, documents, instancetype, preference, vm

PVC = "volumes:\n- name: root\n  persistentVolumeClaim: {claimName: disk}"
INFER = "instancetype:\n  §inferFromVolume: root"
IGNORE = f"{INFER}\n  inferFromVolumeFailurePolicy: Ignore"
DATA_VOLUME = "volumes:\n- name: root\n  dataVolume: {name: disk}"
IMAGE_TEMPLATE = """\
dataVolumeTemplates:
- metadata: {name: disk}
  spec: {source: {registry: {url: "docker://quay.io/disk"}}, storage: {resources: {requests: {storage: 1Gi}}}}"""
REVISION = """\
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: r}
revision: 1
data: {kind: X, apiVersion: v1}
"""
NAMES_SMALL = "labels: {instancetype.kubevirt.io/default-instancetype: small}"
DEPRECATED = 'labels: {instancetype.kubevirt.io/deprecated: "true"}, annotations: {virtshape.io/replacement: u1.small}'

CASES = {
    "name and inference": Case(
        "invalid-matcher",
        vm(spec="instancetype: {§name: small, inferFromVolume: root}"),
        "Name already set, should be cleared before setting inferFromVolume",
    ),
    "neither name nor inference": Case(
        "invalid-matcher", vm(spec="§preference: {}"), "Either Name or InferFromVolume should be provided"
    ),
    "unknown failure policy": Case(
        "invalid-matcher",
        vm(spec="instancetype: {inferFromVolume: root, §inferFromVolumeFailurePolicy: Retry}"),
        "Invalid value 'Retry'",
    ),
    "flavor and instance type": Case(
        "invalid-matcher", vm(spec="instancetype: {name: small}\n§flavor: {name: small}"), "mutually exclusive"
    ),
    "unknown kind": Case(
        "matcher-kind",
        vm(spec="instancetype: {name: small, §kind: Deployment}"),
        "got unexpected kind in InstancetypeMatcher: Deployment; use VirtualMachineClusterInstancetype or",
    ),
    "misspelled instance type": Case(
        "missing-reference",
        vm(spec="instancetype: {§name: u1.medum}", domain=""),
        '"u1.medum" not found; did you mean u1.medium or',
        catalog=True,
    ),
    "missing instance type": Case(
        "missing-reference", vm(spec="instancetype: {§name: small}"), "correct the name, or create the object first"
    ),
    "misspelled preference": Case(
        "missing-reference", vm(spec="preference: {§name: fedra}"), "did you mean fedora", catalog=True
    ),
    "missing flavor": Case("missing-reference", vm(spec="flavor: {§name: tiny}"), 'flavor.kubevirt.io "tiny" not'),
    "namespaced instance type without a kind": Case(
        "missing-reference",
        documents(
            build_manifest("VirtualMachineInstancetype", "cpu: {guest: 1}\nmemory: {guest: 1Gi}"),
            vm(spec="instancetype: {§name: small}"),
        ),
        "there is a VirtualMachineInstancetype of this name: to use it, "
        "set spec.instancetype.kind to VirtualMachineInstancetype",
    ),
    "instance type of another namespace": Case(
        "missing-reference",
        documents(
            build_manifest("VirtualMachineInstancetype", "cpu: {guest: 1}\nmemory: {guest: 1Gi}").replace(
                "name: small", "name: small, namespace: other"
            ),
            vm(spec="instancetype: {§name: small, kind: VirtualMachineInstancetype}"),
        ),
        '"small" not found',
    ),
    "inferred name of a missing object": Case(
        "missing-reference",
        documents(claim(NAMES_SMALL), vm(spec="§instancetype:\n  inferFromVolume: root", template=PVC)),
        '"small" not found: correct the name, or create the object first (inferred from volume root)',
    ),
    "missing instance type that may be created later": Case(
        "deferred-reference",
        documents(
            "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt, namespace: kubevirt}\n"
            "spec: {configuration: {instancetype: {missingReference: Defer}}}\n",
            vm(spec="instancetype: {§name: small}", domain=""),
        ),
        "the VM can start once the object exists",
    ),
    "deprecated instance type": Case(
        "deprecated-reference",
        documents(
            instancetype().replace("{name: small}", f"{{name: small, {DEPRECATED}}}"),
            vm(spec="instancetype: {§name: small}", domain=""),
        ),
        'VirtualMachineClusterInstancetype "small" is deprecated: use u1.small instead',
    ),
    "retired preference": Case(
        "retired-reference",
        documents(
            preference("{}").replace("{name: liked}", "{name: liked, labels: {virtshape.io/lifecycle: retired}}"),
            vm(spec="preference: {§name: liked}"),
        ),
        'VirtualMachineClusterPreference "liked" is retired: new VMs cannot use it',
    ),
    "missing revision": Case(
        "missing-revision",
        documents(instancetype(), vm(spec="instancetype: {name: small, §revisionName: web-small-1}", domain="")),
        '"web-small-1" not found: remove it to use the current instance type',
    ),
    "revision of another object": Case(
        "invalid-revision",
        documents(
            REVISION,
            vm(spec="instancetype: {name: small, §revisionName: r}"),
        ),
        "unexpected type in ControllerRevision",
    ),
    "claim that is not in the files": Case(
        "inference-unknown",
        vm(spec=INFER, template=PVC),
        'the instance type cannot be inferred from the files: persistentvolumeclaims "disk" not found in the files',
    ),
    "misspelled claim": Case(
        "inference-unknown",
        documents(claim(name="disks"), vm(spec=INFER, template=PVC)),
        '"disk" not found in the files; did you mean disks?',
    ),
    "claim that is not in the files, with policy Ignore": Case(
        "inference-unknown",
        vm(spec=IGNORE, template=PVC),
        "if it has no default, the VM gets only its own 1Gi of memory",
    ),
    "container image, which is not read": Case(
        "inference-unknown",
        vm(spec=f"{INFER}\n{IMAGE_TEMPLATE}", template=DATA_VOLUME),
        "no instancetype.kubevirt.io/default-instancetype of container image docker://quay.io/disk is known here",
    ),
    "unknown volume": Case("inference-failed", vm(spec=INFER), "unable to find volume root to infer defaults"),
    "claim without defaults": Case(
        "inference-failed",
        documents(claim(), vm(spec=INFER, template=PVC)),
        "set the label or the annotation instancetype.kubevirt.io/defaultInstancetype",
    ),
    "volume without defaults": Case(
        "inference-ignored",
        vm(spec=IGNORE, template="volumes: [{name: root, containerDisk: {image: i}}]", domain="memory: {guest: 512Mi}"),
        "the VM has no instancetype: it gets only its own 512Mi of memory",
    ),
    "preference that cannot be inferred": Case(
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
