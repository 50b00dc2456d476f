"""Lint findings for invalid syntax, kinds, fields and names."""

import pytest
from tests.support.linting import Case, assert_findings, build_manifest, claim, documents, instancetype, preference, vm

VM_HEAD = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\n"


def disks(text: str, volumes: str = "volumes:\n- name: root\n  containerDisk: {image: i}") -> str:
    return vm(template=volumes, devices=f"disks:\n{text}")


CASES = {
    "invalid YAML": Case("syntax", "a: §[1\n", 'this "[" is never closed'),
    "invalid JSON": Case("syntax", '{"a": 1\n§"b": 2}', "expecting ',' delimiter"),
    "broken document before a valid one": Case("syntax", documents("a: b§: c\n", vm()), "no value can follow here"),
    "duplicate key": Case("duplicate-key", vm(spec="§runStrategy: Halted"), 'the key "runStrategy" appears twice'),
    "duplicate key in JSON": Case("duplicate-key", '{"kind": "A",\n §"kind": "B"}', 'the key "kind" appears twice'),
    "no kind": Case("not-an-object", "§replicas: 3\n", "apiVersion or kind is missing"),
    "scalar document": Case("not-an-object", "§hello\n", "apiVersion or kind is missing"),
    "misspelled kind": Case(
        "unknown-kind", "apiVersion: kubevirt.io/v1\n§kind: VirtualMachin\n", 'did you mean "VirtualMachine"?'
    ),
    "unknown version": Case(
        "unknown-kind",
        "§apiVersion: instancetype.kubevirt.io/v2\nkind: VirtualMachineInstancetype\n",
        'VirtualMachineInstancetype is not known in version "instancetype.kubevirt.io/v2", only in',
    ),
    "known kind in another group": Case(
        "unknown-kind",
        "§apiVersion: v1\nkind: VirtualMachine\n",
        'VirtualMachine is not known in version "v1", only in',
    ),
    "misspelled field": Case(
        "unknown-field", vm(domain="memory: {guest: 1Gi}\ncpu: {§coers: 2}"), 'field "coers", did you mean "cores"?'
    ),
    "unknown field in a preference": Case("unknown-field", preference("§device: {}"), 'did you mean "devices"?'),
    "string for a number": Case(
        "wrong-type", vm(domain='memory: {guest: 1Gi}\ncpu: {§cores: "2"}'), 'expected an integer, got the string "2"'
    ),
    "missing required field": Case(
        "missing-field",
        f"{VM_HEAD}§spec: {{runStrategy: Always}}\n",
        'missing required field "template"',
    ),
    "old instance type without a size": Case(
        "missing-field",
        build_manifest(
            "VirtualMachineInstancetype", "cpu: {guest: 1}", version="instancetype.kubevirt.io/v1beta1"
        ).replace("spec:", "§spec:"),
        'missing required field "memory"',
    ),
    "invalid quantity": Case("invalid-value", vm(domain="memory: {§guest: 4 Gi}"), "got '4 Gi'"),
    "number out of range": Case(
        "invalid-value", vm(domain="memory: {guest: 1Gi}\ncpu: {§cores: 4294967296}"), "from 0 to 4294967295"
    ),
    "misspelled run strategy": Case("unsupported-value", vm(run="§runStrategy: Allways"), 'did you mean "Always"?'),
    "unknown run strategy": Case(
        "unsupported-value", vm(run="§runStrategy: X"), '"X" is not supported: use one of Always, Halted, Manual'
    ),
    "unknown policy": Case("unsupported-value", vm(template="§dnsPolicy: Clusterfirst"), '"ClusterFirst"'),
    "unknown eviction strategy": Case("unsupported-value", vm(template="§evictionStrategy: Move"), "LiveMigrate"),
    "misspelled bus": Case("unsupported-value", disks("- name: root\n  disk: {§bus: virtoi}"), '"virtio"?'),
    "unknown cache mode": Case(
        "unsupported-value", disks("- name: root\n  §cache: fast"), "none, writethrough, writeback"
    ),
    "no name": Case(
        "invalid-name",
        vm(name="§labels: {a: b}").replace("metadata", "§metadata").replace("§labels", "labels"),
        "name or generateName is required",
    ),
    "number as a name": Case("wrong-type", vm(name="§name: 12"), "expected a string, got the integer 12"),
    "list as a kind": Case(
        "unknown-kind", "apiVersion: kubevirt.io/v1\n§kind: [VirtualMachine]\n", "expected a string, got a list"
    ),
    "name in upper case": Case(
        "invalid-name", vm(name="§name: My_VM"), 'Invalid value: "My_VM": a lowercase RFC 1123 subdomain must'
    ),
    "label with a space": Case(
        "invalid-metadata", vm(name="name: web\n§labels: {app: a b}"), 'Invalid value: "a b": a valid label must'
    ),
    "annotation with two slashes": Case(
        "invalid-metadata", vm(name="name: web\n§annotations: {a/b/c: d}"), "with an optional DNS subdomain prefix"
    ),
    "owner without a uid": Case(
        "invalid-metadata",
        vm(name="name: web\nownerReferences:\n- {apiVersion: v1, kind: Pod, name: a, §uid: ''}"),
        "Required value: must not be empty",
    ),
    "label of a claim": Case(
        "invalid-metadata", claim("labels: {app: a b}").replace("labels", "§labels"), "a valid label must"
    ),
    "duplicate VM": Case(
        "duplicate-object", documents(vm(), vm(name="namespace: default\n§name: web")), "further up in this file"
    ),
    "duplicate claim": Case(
        "duplicate-object", documents(claim(), claim().replace("name", "§name")), 'PersistentVolumeClaim "disk"'
    ),
    "deprecated version of VMs": Case(
        "deprecated-version",
        vm().replace("apiVersion: kubevirt.io/v1", "§apiVersion: kubevirt.io/v1alpha3"),
        "use kubevirt.io/v1",
    ),
    "deprecated version of instance types": Case(
        "deprecated-version",
        instancetype().replace(
            "apiVersion: instancetype.kubevirt.io/v1beta2", "§apiVersion: instancetype.kubevirt.io/v1alpha2"
        ),
        "use instancetype.kubevirt.io/v1beta1",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_invalid_manifest_is_reported_at_its_position(case: Case) -> None:
    assert_findings(case)
