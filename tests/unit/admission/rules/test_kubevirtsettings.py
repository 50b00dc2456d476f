"""Validation of the KubeVirt configuration and its feature gates."""

import pytest

from virtshape.admission.checkresult import split_violations
from virtshape.admission.rules.featuregates import ACTIVE, find_feature_gate_warning
from virtshape.admission.rules.kubevirtsettings import check_effects, check_settings
from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject

AT = "spec.configuration"
GRADUATED = (
    'is deprecated (feature state is "General Availability"), therefore it can be safely removed and is redundant'
)
PROVIDER = "permittedHostDevices.pciHostDevices[0].externalResourceProvider"
UNSUPPORTED = "not supported by virtshape; it has no effect"


def gates(*enabled: str, disabled: tuple[str, ...] = ()) -> JsonObject:
    return {"developerConfiguration": {"featureGates": list(enabled), "disabledFeatureGates": list(disabled)}}


REFUSED: dict[str, tuple[JsonObject, str, str]] = {
    "unknown eviction strategy": ({"evictionStrategy": "Push"}, "evictionStrategy", '"Push" is not supported'),
    "unknown rollout strategy": ({"vmRolloutStrategy": "Now"}, "vmRolloutStrategy", '"Now" is not supported'),
    "unknown reference policy": (
        {"instancetype": {"referencePolicy": "Expand"}},
        "instancetype.referencePolicy",
        'did you mean "expand"?',
    ),
    "unknown default interface": (
        {"network": {"defaultNetworkInterface": "slirp"}},
        "network.defaultNetworkInterface",
        "use one of bridge, masquerade",
    ),
    "unknown architecture": (
        {"architectureConfiguration": {"defaultArchitecture": "vax"}},
        "architectureConfiguration.defaultArchitecture",
        "use one of amd64, arm64, s390x",
    ),
    "feature gate enabled and disabled": (
        gates("Root", disabled=("Root",)),
        "developerConfiguration.disabledFeatureGates[0]",
        "feature gate Root is also in featureGates",
    ),
    "ratio that is not a number": (
        {"additionalGuestMemoryOverheadRatio": "much"},
        "additionalGuestMemoryOverheadRatio",
        "ratio provided, much, cannot be parsed into float",
    ),
    "ratio below 1": (
        {"additionalGuestMemoryOverheadRatio": "0.9"},
        "additionalGuestMemoryOverheadRatio",
        "ratio provided, 0.9, cannot be smaller than 1.0",
    ),
    "ciphers with TLS 1.3": (
        {"tlsConfiguration": {"minTLSVersion": "VersionTLS13", "ciphers": ["TLS_AES_128_GCM_SHA256"]}},
        "tlsConfiguration.ciphers",
        "You cannot specify ciphers when spec.configuration.tlsConfiguration.minTLSVersion is empty or VersionTLS13",
    ),
}

WARNED: dict[str, tuple[JsonObject, list[str]]] = {
    "empty configuration": ({}, []),
    "supported settings": (
        {
            "evictionStrategy": "LiveMigrate",
            "instancetype": {"referencePolicy": "expandAll"},
            "network": {"defaultNetworkInterface": "masquerade"},
            "additionalGuestMemoryOverheadRatio": "1.5",
            **gates("HostDisk", "Sidecar"),
        },
        [],
    ),
    "unknown setting": (
        {"cpuModle": "host-model"},
        [f'unknown setting "{AT}.cpuModle" is stored but has no effect, did you mean "cpuModel"?'],
    ),
    "unknown nested setting": (
        {"network": {"colour": "blue"}},
        [f'unknown setting "{AT}.network.colour" is stored but has no effect'],
    ),
    "unknown setting in a list": (
        {"permittedHostDevices": {"usb": [{"externalResourceProvider": True, "resourceName": "b", "size": 1}]}},
        [f'unknown setting "{AT}.permittedHostDevices.usb[0].size" is stored but has no effect'],
    ),
    "unknown feature gate": (
        gates("HostDisc"),
        ['unknown feature gate "HostDisc" is stored but has no effect, did you mean "HostDisk"?'],
    ),
    "feature gate that is always enabled": (
        gates("LiveMigration"),
        [f"feature gate LiveMigration {GRADUATED}"],
    ),
    "removed feature gate": (gates("MultiArchitecture"), ["MultiArchitecture has been deprecated since v1.8.0"]),
    "machine type for all architectures": (
        {"machineType": "q35"},
        [f"{AT}.machineType is deprecated, use architectureConfiguration, where each architecture has its machineType"],
    ),
    "slirp": (
        {"network": {"permitSlirpInterface": True}},
        [f"{AT}.network.permitSlirpInterface is deprecated, slirp is no longer supported"],
    ),
    "unsupported setting": (
        {"tlsConfiguration": {"minTLSVersion": "VersionTLS12", "colour": "blue"}},
        [f"{AT}.tlsConfiguration: {UNSUPPORTED}"],
    ),
    "unsupported nested setting": (
        {"network": {"binding": {"lan": {"sidecarImage": "i"}}}},
        [f"{AT}.network.binding: {UNSUPPORTED}"],
    ),
    "null of an unsupported setting": ({"migrations": None}, []),
    "device that no plugin provides": (
        {"permittedHostDevices": {"pciHostDevices": [{"pciVendorSelector": "a", "resourceName": "b"}]}},
        [
            (
                f"{AT}.{PROVIDER} should be true: a device plugin must provide b, "
                "because virtshape does not discover devices"
            )
        ],
    ),
}


@pytest.mark.parametrize(("tree", "field", "reason"), REFUSED.values(), ids=REFUSED)
def test_invalid_kubevirt_setting_is_rejected(tree: JsonObject, field: str, reason: str) -> None:
    (cause,) = split_violations(check_settings(from_tree(tree, KubeVirtConfiguration), tree)).causes
    assert cause.field == f"{AT}.{field}"
    assert reason in cause.message


@pytest.mark.parametrize(("tree", "warnings"), WARNED.values(), ids=WARNED)
def test_accepted_kubevirt_settings_cause_exactly_the_expected_warnings(tree: JsonObject, warnings: list[str]) -> None:
    problems = [*check_settings(from_tree(tree, KubeVirtConfiguration), tree), *check_effects({"configuration": tree})]
    result = split_violations(problems)
    assert (result.causes, result.warnings) == ([], warnings)


def test_unknown_setting_within_a_setting_for_pods_is_also_reported() -> None:
    tree: JsonObject = {"configuration": {"seccompConfiguration": {"colour": "blue"}}}
    warnings = split_violations(check_effects(tree, is_standalone=True)).warnings
    assert warnings == [
        f"{AT}.seccompConfiguration: only affects guests in pods on a cluster; it has no effect on this server",
        f'unknown setting "{AT}.seccompConfiguration.colour" is stored but has no effect',
    ]


def test_null_of_a_setting_for_pods_causes_no_warning() -> None:
    tree: JsonObject = {"configuration": {"defaultRuntimeClass": None}}
    assert list(check_effects(tree, is_standalone=True)) == []


def test_active_feature_gates_cause_no_warning() -> None:
    assert [name for name in ACTIVE if find_feature_gate_warning(name) is not None] == []
