"""Lint findings for VMs that do not fit their instance type or preference."""

import pytest
from tests.support.linting import Case, assert_findings, documents, instancetype, lint, preference, vm

SMALL = "instancetype: {name: small}"
LIKED = "preference: {name: liked}"
BOTH = f"{SMALL}\n{LIKED}"
EIGHT = "requirements: {cpu: {guest: 8}, memory: {guest: 16Gi}}"
SPREAD = "cpu: {preferredCPUTopology: spread, spreadOptions: {ratio: 4}}"

CASES = {
    "conflicting field": Case(
        "instancetype-conflict",
        documents(instancetype(), vm(spec=SMALL, domain="cpu: {§cores: 2}")),
        "VM field(s) spec.template.spec.domain.cpu.cores conflicts with selected instance type",
    ),
    "several conflicting fields": Case(
        "instancetype-conflict",
        documents(
            instancetype("cpu: {guest: 2, dedicatedCPUPlacement: true}\nmemory: {guest: 2Gi}\nannotations: {a.b/c: d}"),
            vm(
                spec=SMALL,
                domain="resources: {requests: {§cpu: 1, §memory: 1Gi}}\n"
                "cpu: {§sockets: 1, §dedicatedCpuPlacement: true}\n"
                "memory: {§guest: 1Gi}",
            ).replace("  template:\n", "  template:\n    metadata:\n      annotations:\n        §a.b/c: e\n"),
        ),
        "conflicts with selected instance type",
    ),
    "vCPUs of VM and instance type": Case(
        "instancetype-conflict",
        documents(instancetype(), vm(spec=SMALL, domain="cpu: {§guest: 2}")),
        "domain.cpu.guest conflicts",
    ),
    "sizes outside the limits of the instance type": Case(
        "sizing-policy",
        documents(
            instancetype("cpu: {limits: {max: 4}}\nmemory: {limits: {step: 1Gi}}"),
            vm(spec=SMALL, domain="cpu: {§guest: 6}\nmemory: {§guest: 1536Mi}"),
        ),
        "the nearest allowed value",
    ),
    "too small for its preference": Case(
        "unmet-requirement",
        documents(instancetype(), preference(EIGHT), vm(spec=f"§§{BOTH}", domain="")),
        "failure checking preference requirements: insufficient",
    ),
    "too small without an instance type": Case(
        "unmet-requirement",
        documents(
            preference("requirements: {memory: {guest: 2Gi}}"),
            vm(spec=LIKED, domain="§memory: {guest: 1Gi}"),
        ),
        "insufficient Memory resources of 1Gi provided by VirtualMachine, preference requires 2Gi",
    ),
    "other architecture": Case(
        "unmet-requirement",
        documents(
            preference("requirements: {architecture: arm64}"),
            vm(spec=LIKED, template="§architecture: amd64"),
        ),
        "preference requires architecture arm64 but amd64 is being requested",
    ),
    "memory request above the limit": Case(
        "impossible-combination",
        vm(domain="memory: {guest: 1Gi}\nresources: {requests: {§memory: 2Gi}, limits: {memory: 1Gi}}"),
        "requests.memory '2Gi' is greater than",
    ),
    "secure boot of a preference without SMM": Case(
        "impossible-combination",
        documents(
            preference("firmware: {preferredEfi: {secureBoot: true}}\nfeatures: {preferredSmm: {}}"),
            vm(spec=LIKED, domain="memory: {guest: 1Gi}\nfeatures: {smm: {enabled: false}}").replace(
                "domain:", "§domain:"
            ),
        ),
        "SMM",
    ),
    "machine type that the configuration does not allow": Case(
        "unsupported-value",
        vm(domain="memory: {guest: 1Gi}\nmachine: {§type: isapc}"),
        "is not supported: isapc (allowed values: [q35* pc-q35*])",
    ),
    "more sockets than the instance type allows": Case(
        "impossible-combination",
        documents(
            instancetype("cpu: {guest: 4, maxSockets: 2}\nmemory: {guest: 1Gi}"),
            vm(spec=SMALL, domain="").replace("domain:", "§domain:"),
        ),
        "Number of sockets in CPU topology is greater than the maximum sockets allowed",
    ),
    "vCPUs that cannot be spread": Case(
        "indivisible-spread",
        documents(instancetype(), preference(SPREAD), vm(spec=f"§{BOTH}", domain="")),
        "2 vCPUs provided by the instance type are not divisible",
    ),
    "own vCPUs that cannot be spread": Case(
        "indivisible-spread",
        documents(preference(SPREAD), vm(spec=LIKED, domain="memory: {guest: 1Gi}\ncpu: {§guest: 6}")),
        "6 vCPUs provided by the VM are not divisible",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_vm_that_does_not_fit_is_reported_at_its_position(case: Case) -> None:
    assert_findings(case)


def test_conflicts_and_unmet_requirements_are_reported_together() -> None:
    text = documents(instancetype(), preference(EIGHT), vm(spec=BOTH, domain="cpu: {cores: 16}\nmemory: {guest: 64Gi}"))
    assert [(each.rule, each.field) for each in lint(text)] == [
        ("unmet-requirement", "spec.instancetype"),
        ("unmet-requirement", "spec.instancetype"),
        ("instancetype-conflict", "spec.template.spec.domain.cpu.cores"),
        ("instancetype-conflict", "spec.template.spec.domain.memory.guest"),
    ]


ADVICE = {
    "smallest of the same series first": ("u1.nano", "u1.2xlarge or u1.4xlarge or u1.8xlarge"),
    "smallest of another series": ("own.small", "u1.2xlarge or u1.4xlarge or u1.8xlarge"),
}


@pytest.mark.parametrize(("name", "names"), ADVICE.values(), ids=ADVICE)
def test_unmet_requirement_suggests_instancetypes(name: str, names: str) -> None:
    text = documents(
        instancetype(name="own.small"),
        preference(EIGHT),
        vm(spec=f"instancetype: {{name: {name}}}\n{LIKED}", domain=""),
    )
    assert [each.message.rpartition("; ")[2] for each in lint(text, catalog=True)] == [f"{names} fits"] * 2


def test_conflicting_instancetype_is_not_suggested() -> None:
    large = "cpu: {guest: 8}\nmemory: {guest: 32Gi}"
    text = documents(
        instancetype(),
        instancetype(f"{large}\nnodeSelector: {{disk: fast}}", name="large.fast"),
        instancetype(f"{large}\nschedulerName: own", name="large.own"),
        preference(EIGHT),
        vm(spec=BOTH, template="nodeSelector: {zone: a}", domain=""),
    )
    assert {each.message.rpartition("; ")[2] for each in lint(text)} == {"large.own fits"}


def test_lack_of_a_suitable_instancetype_is_reported() -> None:
    text = documents(instancetype(), preference(EIGHT), vm(spec=BOTH, domain=""))
    assert all(each.message.endswith("; no known instance type fits") for each in lint(text))
