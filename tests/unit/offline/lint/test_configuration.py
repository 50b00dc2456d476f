"""Lint findings for KubeVirt objects: invalid settings, and settings without effect."""

import pytest
from tests.support.linting import Case, assert_findings, lint
from tests.unit.offline.lint.test_host_access import kubevirt

CASES = {
    "a setting without effect": Case(
        "no-effect",
        kubevirt("{§migrations: {bandwidthPerMigration: 1Gi}}"),
        "spec.configuration.migrations: not supported by virtshape; it has no effect",
    ),
    "a device that nothing provides": Case(
        "no-effect",
        kubevirt("{permittedHostDevices: {usb: [§{resourceName: a.b/c}]}}"),
        "virtshape does not discover devices",
    ),
    "an invalid ratio": Case(
        "invalid-value",
        kubevirt("{§additionalGuestMemoryOverheadRatio: '0.5'}"),
        "ratio provided, 0.5, cannot be smaller than 1.0",
    ),
    "contradictory feature gates": Case(
        "impossible-combination",
        kubevirt("{developerConfiguration: {featureGates: [VSOCK], disabledFeatureGates: [§VSOCK]}}"),
        "feature gate VSOCK is also in featureGates",
    ),
    "an unknown value": Case("unsupported-value", kubevirt("{§evictionStrategy: Fly}"), "Fly"),
    "a misspelled setting": Case(
        "no-effect", kubevirt("{§evictionStrateggy: None}"), 'did you mean "evictionStrategy"'
    ),
    "a deprecated setting": Case(
        "deprecated-field", kubevirt("{network: {§permitSlirpInterface: true}}"), "slirp is no longer supported"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_invalid_or_ineffective_setting_is_reported_at_its_position(case: Case) -> None:
    assert_findings(case)


def test_supported_settings_are_not_reported() -> None:
    assert lint(kubevirt("{instancetype: {referencePolicy: expand}, evictionStrategy: None}")) == []


def test_settings_that_only_affect_guests_in_pods_are_not_reported() -> None:
    assert lint(kubevirt("{defaultRuntimeClass: kata, developerConfiguration: {useEmulation: true}}")) == []
