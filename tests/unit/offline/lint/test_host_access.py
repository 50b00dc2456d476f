"""Lint findings for host access: checked with the KubeVirt object in the files, or noted if there is none."""

import pytest
from tests.support.linting import Case, assert_findings, documents, instancetype, lint, read_marks, vm

GPU = "gpus: [{name: g, §deviceName: nvidia.com/T4}]"
HOST_DISK = "volumes: [{name: d, §hostDisk: {path: /srv/d.img, type: Disk}}]"
SMALL = "§instancetype: {name: small}"
WITH_GPU = instancetype(
    "{cpu: {guest: 1}, memory: {guest: 1Gi}, gpus: [{name: g, deviceName: nvidia.com/T4}]}", "small"
)


def kubevirt(configuration: str, name: str = "kubevirt") -> str:
    head = f"apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {{name: {name}, namespace: kubevirt}}\n"
    return f"{head}spec: {{configuration: {configuration}}}"


CLOSED = kubevirt("{}")
OPEN = kubevirt(
    "{developerConfiguration: {featureGates: [HostDisk]}, "
    "permittedHostDevices: {pciHostDevices: [{pciVendorSelector: '10DE:1EB8', resourceName: nvidia.com/T4, "
    "externalResourceProvider: true}]}}"
)
CASES = {
    "a host disk": Case(
        "host-access",
        documents(vm(template=HOST_DISK), CLOSED),
        "HostDisk feature gate is not enabled",
    ),
    "a GPU": Case(
        "host-access",
        documents(vm(devices=GPU), CLOSED),
        "GPU nvidia.com/T4 is not permitted in permittedHostDevices configuration",
    ),
    "a host disk without a configuration": Case(
        "host-access-unknown",
        vm(template=HOST_DISK),
        "unknown without the KubeVirt object in the files: HostDisk feature gate is not enabled",
    ),
    "a GPU of an instance type": Case(
        "host-access",
        documents(vm(spec=SMALL, domain=""), WITH_GPU, CLOSED),
        "(domain.devices.gpus comes from spec.instancetype)",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_forbidden_host_access_is_reported_at_its_position(case: Case) -> None:
    assert_findings(case)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_permitted_host_access_is_not_reported(case: Case) -> None:
    assert lint(documents(read_marks(case.text).text.replace(CLOSED, ""), OPEN)) == []


@pytest.mark.parametrize("other", ["", kubevirt("{}", name="other")], ids=["none", "of another name"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_host_access_is_reported_as_a_note_without_a_configuration(case: Case, other: str) -> None:
    (finding,) = lint(read_marks(case.text).text.replace(CLOSED, other))
    assert (finding.level, finding.rule) == ("note", "host-access-unknown")
