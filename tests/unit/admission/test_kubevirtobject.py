"""Admission of the KubeVirt configuration."""

import pytest

from virtshape.admission.checkresult import require_valid
from virtshape.admission.kubevirtobject import evaluate_configuration
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError


def configured(**settings: object) -> JsonObject:
    return {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "spec": {"configuration": settings}}


def test_unknown_kubevirt_setting_is_stored_with_a_warning() -> None:
    tree = configured(colour="blue")
    evaluated, violations = evaluate_configuration(tree, None)
    assert evaluated is tree
    assert require_valid(violations) == ['unknown setting "spec.configuration.colour" is stored but has no effect']


def test_invalid_kubevirt_setting_is_rejected() -> None:
    with pytest.raises(StatusError) as error:
        require_valid(evaluate_configuration(configured(evictionStrategy="Push"), None).violations)
    assert [cause.field for cause in error.value.causes] == ["spec.configuration.evictionStrategy"]


def test_unsupported_field_of_the_kubevirt_spec_causes_a_warning() -> None:
    tree: JsonObject = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "spec": {"imageTag": "v1"}}
    violations = evaluate_configuration(tree, None).violations
    assert require_valid(violations) == ["spec.imageTag: not supported by virtshape; it has no effect"]


def test_kubevirt_change_outside_the_configuration_is_not_validated() -> None:
    old = configured(colour="blue", evictionStrategy="Push")
    new = {**old, "metadata": {"labels": {"a": "b"}}}
    assert evaluate_configuration(new, old) == (new, [])


def test_kubevirt_object_without_a_configuration_is_accepted() -> None:
    tree: JsonObject = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt"}
    assert evaluate_configuration(tree, None) == (tree, [])
