"""Lint findings for invalid instance types, flavors and preferences."""

import pytest
from tests.support.linting import Case, assert_findings, build_manifest, instancetype, preference

CASES = {
    "instance type without vCPUs": Case("invalid-instancetype", instancetype("cpu: {§guest: 0}"), "must be 1 or more"),
    "instance type with two sizes": Case(
        "invalid-instancetype", instancetype("cpu: {guest: 2, §topology: {cores: 2}}"), "mutually exclusive"
    ),
    "flavor with 0 vCPUs": Case(
        "deprecated-field",
        build_manifest(
            "VirtualMachineFlavor", "cpu: {§guest: 0}\nmemory: {guest: 1Gi}", version="flavor.kubevirt.io/v1alpha1"
        ),
        "0 leaves the size to VMs",
    ),
    "0 vCPUs": Case("invalid-instancetype", instancetype("cpu: {§guest: 0}"), "must be 1 or more"),
    "overcommit too large": Case(
        "invalid-instancetype", instancetype("memory: {guest: 1Gi, §overcommitPercent: 120}"), "between 0 and 100"
    ),
    "impossible preference": Case(
        "impossible-preference", preference("devices: {§preferredDiskBus: nonsense}"), "unrecognized bus nonsense"
    ),
    "unknown topology": Case(
        "invalid-preference", preference("cpu: {§preferredCPUTopology: round}"), "unknown preferredCPUTopology round"
    ),
    "deprecated topology": Case(
        "deprecated-field", preference("cpu: {§preferredCPUTopology: preferCores}"), "please use cores instead"
    ),
    "launch security in an instance type": Case(
        "deprecated-field",
        instancetype("cpu: {guest: 1}\nmemory: {guest: 1Gi}\n§launchSecurity: {sev: {}}"),
        "launchSecurity is deprecated",
    ),
    "deprecated EFI field": Case(
        "deprecated-field",
        preference("firmware: {§preferredUseEfi: true}\nfeatures: {preferredSmm: {}}"),
        "preferredUseEfi is deprecated: use preferredEfi",
    ),
    "deprecated secure boot field": Case(
        "deprecated-field",
        preference("firmware: {§preferredUseEfi: true, §preferredUseSecureBoot: true}\nfeatures: {preferredSmm: {}}"),
        "use preferredEfi",
    ),
    "deprecated ratio field": Case(
        "deprecated-field", preference("§preferSpreadSocketToCoreRatio: 2"), "use cpu.spreadOptions.ratio"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_problem_of_an_instancetype_or_preference_is_reported_at_its_position(case: Case) -> None:
    assert_findings(case)
