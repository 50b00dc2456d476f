"""Guest features: a preference fills each unset feature separately, including each Hyper-V feature."""

import pytest
from tests.support.engine import apply_to_domain

from virtshape.api.kubevirt.features import FeatureHyperv
from virtshape.api.model import JsonObject

HYPERV = FeatureHyperv.__struct_fields__


def shape_features(own: JsonObject | None, preferred: JsonObject) -> JsonObject:
    features: JsonObject = apply_to_domain({"features": own}, preference={"features": preferred})["features"]
    return features


@pytest.mark.parametrize("own", [None, {}], ids=["absent", "empty"])
def test_any_feature_preference_enables_acpi(own: JsonObject | None) -> None:
    assert shape_features(own, {}) == {"acpi": {}}


@pytest.mark.parametrize(
    ("own", "preferred", "result"),
    [
        ({"acpi": {"enabled": False}}, {"preferredAcpi": {"enabled": True}}, {"acpi": {"enabled": False}}),
        ({"acpi": {}}, {"preferredAcpi": {"enabled": False}}, {"acpi": {}}),
        ({"smm": {}}, {"preferredSmm": {"enabled": True}}, {"acpi": {}, "smm": {}}),
        ({"hypervPassthrough": {}}, {"preferredSmm": {}}, {"acpi": {}, "smm": {}, "hypervPassthrough": {}}),
        ({"kvm": {}}, {"preferredKvm": {"hidden": True}}, {"acpi": {}, "kvm": {}}),
    ],
    ids=["disabled", "present", "smm", "passthrough", "kvm"],
)
def test_preference_does_not_override_a_feature_of_the_vm(
    own: JsonObject, preferred: JsonObject, result: JsonObject
) -> None:
    assert shape_features(own, preferred) == result


@pytest.mark.parametrize("name", HYPERV)
def test_preference_sets_an_unset_hyperv_feature(name: str) -> None:
    preferred = {name: {"enabled": True}}
    assert shape_features({"hyperv": {}}, {"preferredHyperv": preferred})["hyperv"] == preferred


@pytest.mark.parametrize("name", HYPERV)
def test_preference_does_not_override_a_hyperv_feature_of_the_vm(name: str) -> None:
    preferred = {other: {"enabled": True} for other in HYPERV}
    hyperv = shape_features({"hyperv": {name: {"enabled": False}}}, {"preferredHyperv": preferred})["hyperv"]
    assert hyperv == {**preferred, name: {"enabled": False}}


def test_empty_preferred_hyperv_adds_empty_hyperv_features() -> None:
    assert shape_features(None, {"preferredHyperv": {}}) == {"acpi": {}, "hyperv": {}}


def test_no_features_are_added_without_feature_preferences() -> None:
    assert "features" not in apply_to_domain(preference={"devices": {}})
