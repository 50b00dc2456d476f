"""Lint findings for VMs that are invalid regardless of other objects."""

import pytest
from tests.support.linting import Case, assert_findings, documents, instancetype, lint, read_marks, vm

SMALL = "instancetype: {name: small}"
SIZELESS = instancetype("{}", name="small")
VM_HEAD = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\n"


def disks(text: str, volumes: str = "volumes:\n- name: root\n  containerDisk: {image: i}") -> str:
    return vm(template=volumes, devices=f"disks:\n{text}")


CASES = {
    "neither running nor a run strategy": Case(
        "run-strategy", vm(run="").replace("spec:", "§spec:", 1), "set spec.runStrategy"
    ),
    "deprecated running field": Case(
        "deprecated-field", vm(run="§running: false"), "spec.running is deprecated: use spec.runStrategy: Halted"
    ),
    "disk without a volume": Case(
        "missing-volume", disks("- §name: data"), 'the disk "data" has no volume of that name: add one, or remove'
    ),
    "disk with a misspelled volume": Case("missing-volume", disks("- §name: rooot"), 'did you mean "root"?'),
    "filesystem without a volume": Case(
        "missing-volume", vm(devices="filesystems:\n- §name: share\n  virtiofs: {}"), 'the filesystem "share"'
    ),
    "interface without a network": Case(
        "missing-network", vm(devices="interfaces:\n- §name: lan\n  bridge: {}"), 'the interface "lan" has no network'
    ),
    "network without an interface": Case(
        "missing-interface", vm(template="networks:\n- §name: lan\n  pod: {}"), 'the network "lan" has no interface'
    ),
    "duplicate volume name": Case(
        "duplicate-name",
        # Each volume gets a default disk, so the disks have the same name too.
        vm(
            template="volumes:\n- {name: a, emptyDisk: {capacity: 1Gi}}\n- {§name: a, emptyDisk: {capacity: 1Gi}}"
        ).replace("devices:", "§devices:"),
        'are named "a"',
    ),
    "duplicate disk name": Case("duplicate-name", disks("- name: root\n- §name: root"), 'two disks are named "root"'),
    "duplicate interface name": Case(
        "duplicate-name",
        vm(template="networks: [{name: lan, pod: {}}]", devices="interfaces:\n- name: lan\n- §name: lan"),
        'two interfaces are named "lan"',
    ),
    "duplicate network name": Case(
        "duplicate-name",
        vm(
            template="networks:\n- {name: lan, pod: {}}\n- {§name: lan, multus: {networkName: net}}",
            devices="interfaces: [{name: lan}]",
        ),
        'two networks are named "lan"',
    ),
    "volume without a source": Case(
        "one-of", vm(template="volumes:\n- §name: root"), "has no source: add one, such as containerDisk"
    ),
    "volume with two sources": Case(
        "one-of",
        vm(template="volumes:\n- name: root\n  containerDisk: {image: i}\n  §emptyDisk: {capacity: 1Gi}"),
        "has containerDisk and emptyDisk: keep one of them",
    ),
    "disk with two targets": Case("one-of", disks("- name: root\n  disk: {}\n  §cdrom: {}"), "has disk and cdrom"),
    "interface with two bindings": Case(
        "one-of",
        vm(
            template="networks: [{name: lan, pod: {}}]",
            devices="interfaces:\n- name: lan\n  masquerade: {}\n  §bridge: {}",
        ),
        "has masquerade and bridge",
    ),
    "network without a type": Case(
        "one-of",
        vm(template="networks:\n- §name: lan", devices="interfaces: [{name: lan}]"),
        "pod, multus or resourceClaim",
    ),
    "removed binding": Case(
        "unsupported-value",
        vm(template="networks: [{name: lan, pod: {}}]", devices="interfaces:\n- name: lan\n  §slirp: {}"),
        "Slirp interface support has been discontinued since v1.3: use masquerade or passtBinding",
    ),
    "masquerade outside the pod network": Case(
        "impossible-combination",
        vm(
            template="networks: [{name: lan, multus: {networkName: net}}]",
            devices="interfaces:\n- §name: lan\n  masquerade: {}",
        ),
        "Masquerade interface only implemented with pod network",
    ),
    "vCPUs and cores": Case(
        "own-vcpus", vm(domain="memory: {guest: 1Gi}\ncpu: {guest: 2, §cores: 2}"), "are mutually exclusive"
    ),
    "zero vCPUs": Case("own-vcpus", vm(domain="memory: {guest: 1Gi}\ncpu: {§guest: 0}"), "must be 1 or more"),
    "no memory": Case(
        "memory-not-set", vm(domain="").replace("domain:", "§domain:"), "no memory: set spec.template.spec"
    ),
    "no memory with an instance type without a size": Case(
        "no-memory",
        documents(SIZELESS, vm(spec=SMALL, domain="").replace("domain:", "§domain:")),
        "or choose an instance type",
    ),
    "zero memory": Case("no-memory", vm(domain="memory: {§guest: 0}"), "must be greater than 0"),
    "template without a source": Case(
        "missing-field",
        f"{VM_HEAD}spec: {{runStrategy: Always, §template: {{}}}}\n",
        "of the template",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_invalid_vm_is_reported_at_its_position(case: Case) -> None:
    assert_findings(case)


def test_running_field_with_a_run_strategy_is_reported() -> None:
    text, (place,) = read_marks(vm(run="§running: true\nrunStrategy: Manual"))
    findings = lint(text)
    assert [(each.rule, each.line, each.column) for each in findings] == [
        ("deprecated-field", *place),
        ("run-strategy", *place),
    ]
    assert [each.message for each in findings] == [
        "spec.running is deprecated: use spec.runStrategy: Manual",
        "Running and RunStrategy are mutually exclusive: remove spec.running",
    ]
