"""Lint findings for invalid syntax, kinds, fields and names."""

import pytest
from tests.support.linting import Case, assert_findings, build_manifest, claim, documents, instancetype, preference, vm

VM_HEAD = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\n"


def disks(text: str, volumes: str = "volumes:\n- name: root\n  containerDisk: {image: i}") -> str:
    return vm(template=volumes, devices=f"disks:\n{text}")


CASES = {
    "a text that is no YAML": Case("syntax", "a: §[1\n", 'this "[" is never closed'),
    "a text that is no JSON": Case("syntax", '{"a": 1\n§"b": 2}', "expecting ',' delimiter"),
    "a broken document before a good one": Case("syntax", documents("a: b§: c\n", vm()), "no value can follow here"),
    "a key twice": Case("duplicate-key", vm(spec="§runStrategy: Halted"), 'the key "runStrategy" appears twice'),
    "a key twice in JSON": Case("duplicate-key", '{"kind": "A",\n §"kind": "B"}', 'the key "kind" appears twice'),
    "no kind": Case("not-an-object", "§replicas: 3\n", "has no apiVersion and kind"),
    "only a word": Case("not-an-object", "§hello\n", "has no apiVersion and kind"),
    "a kind misspelt": Case(
        "unknown-kind", "apiVersion: kubevirt.io/v1\n§kind: VirtualMachin\n", 'did you mean "VirtualMachine"?'
    ),
    "a version that there is not": Case(
        "unknown-kind",
        "§apiVersion: instancetype.kubevirt.io/v2\nkind: VirtualMachineInstancetype\n",
        'VirtualMachineInstancetype is not known at "instancetype.kubevirt.io/v2", only at',
    ),
    "a kind of ours in another group": Case(
        "unknown-kind", "§apiVersion: v1\nkind: VirtualMachine\n", 'VirtualMachine is not known at "v1", only at'
    ),
    "a field misspelt": Case(
        "unknown-field", vm(domain="memory: {guest: 1Gi}\ncpu: {§coers: 2}"), 'field "coers", did you mean "cores"?'
    ),
    "a field unknown in a preference": Case("unknown-field", preference("§device: {}"), 'did you mean "devices"?'),
    "a text for a number": Case(
        "wrong-type", vm(domain='memory: {guest: 1Gi}\ncpu: {§cores: "2"}'), 'expected an integer, got the string "2"'
    ),
    "a field that is needed": Case(
        "missing-field",
        f"{VM_HEAD}§spec: {{runStrategy: Always}}\n",
        'missing required field "template"',
    ),
    "an instance type of old without its size": Case(
        "missing-field",
        build_manifest(
            "VirtualMachineInstancetype", "cpu: {guest: 1}", version="instancetype.kubevirt.io/v1beta1"
        ).replace("spec:", "§spec:"),
        'missing required field "memory"',
    ),
    "a quantity that is none": Case("invalid-value", vm(domain="memory: {§guest: 4 Gi}"), "got '4 Gi'"),
    "a number too large": Case(
        "invalid-value", vm(domain="memory: {guest: 1Gi}\ncpu: {§cores: 4294967296}"), "from 0 to 4294967295"
    ),
    "a run strategy misspelt": Case("unsupported-value", vm(run="§runStrategy: Allways"), 'did you mean "Always"?'),
    "a run strategy made up": Case(
        "unsupported-value", vm(run="§runStrategy: X"), '"X" is not supported: use one of Always, Halted, Manual'
    ),
    "a policy made up": Case("unsupported-value", vm(template="§dnsPolicy: Clusterfirst"), '"ClusterFirst"'),
    "an eviction strategy made up": Case("unsupported-value", vm(template="§evictionStrategy: Move"), "LiveMigrate"),
    "a bus misspelt": Case("unsupported-value", disks("- name: root\n  disk: {§bus: virtoi}"), '"virtio"?'),
    "a cache made up": Case(
        "unsupported-value", disks("- name: root\n  §cache: fast"), "none, writethrough, writeback"
    ),
    "no name": Case(
        "invalid-name",
        vm(name="§labels: {a: b}").replace("metadata", "§metadata").replace("§labels", "labels"),
        "set metadata.name",
    ),
    "a number for a name": Case("wrong-type", vm(name="§name: 12"), "expected a string, got the integer 12"),
    "a list for a kind": Case(
        "unknown-kind", "apiVersion: kubevirt.io/v1\n§kind: [VirtualMachine]\n", "expected a string, got a list"
    ),
    "a name in capitals": Case("invalid-name", vm(name="§name: My_VM"), '"My_VM" cannot be a name'),
    "the same VM twice": Case(
        "duplicate-object", documents(vm(), vm(name="namespace: default\n§name: web")), "further up in this file"
    ),
    "the same claim twice": Case(
        "duplicate-object", documents(claim(), claim().replace("name", "§name")), 'PersistentVolumeClaim "disk"'
    ),
    "an old version of VMs": Case(
        "deprecated-version",
        vm().replace("apiVersion: kubevirt.io/v1", "§apiVersion: kubevirt.io/v1alpha3"),
        "use kubevirt.io/v1",
    ),
    "an old version of instance types": Case(
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
