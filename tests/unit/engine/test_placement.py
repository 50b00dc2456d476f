"""Node selector and scheduler of an instance type."""

import pytest
from tests.support.build import build_instancetype_spec, build_spec
from tests.support.engine import apply_to_spec, list_conflicts

from virtshape.api.model import JsonObject
from virtshape.engine.placement import apply_placement


@pytest.mark.parametrize(
    ("own", "given", "clashes"),
    [
        pytest.param(
            {"nodeSelector": {"a": "1"}}, {"nodeSelector": {"b": "2"}}, ["nodeSelector"], id="both set a node selector"
        ),
        pytest.param(
            {"nodeSelector": {"a": "1"}}, {"nodeSelector": {"a": "1"}}, ["nodeSelector"], id="same node selector"
        ),
        pytest.param({"nodeSelector": {}}, {"nodeSelector": {"b": "2"}}, ["nodeSelector"], id="empty VM node selector"),
        pytest.param(
            {"nodeSelector": {"a": "1"}}, {"nodeSelector": {}}, ["nodeSelector"], id="empty instance type node selector"
        ),
        pytest.param({"nodeSelector": {"a": "1"}}, {}, [], id="no instance type node selector"),
        pytest.param({"schedulerName": "a"}, {"schedulerName": "b"}, ["schedulerName"], id="both set a scheduler"),
        pytest.param({"schedulerName": ""}, {"schedulerName": "b"}, [], id="VM scheduler unset"),
        pytest.param({"schedulerName": "a"}, {"schedulerName": ""}, [], id="instance type scheduler unset"),
        pytest.param(
            {"nodeSelector": {}, "schedulerName": "a"},
            {"nodeSelector": {}, "schedulerName": "b"},
            ["nodeSelector", "schedulerName"],
            id="all at once",
        ),
    ],
)
def test_placement_set_by_vm_and_instance_type_conflicts(
    own: JsonObject, given: JsonObject, clashes: list[str]
) -> None:
    assert list_conflicts({}, given, **own) == clashes


@pytest.mark.parametrize("own", [{"nodeSelector": {"a": "1"}}, {"schedulerName": "own"}], ids=["selector", "scheduler"])
def test_placement_of_the_vm_is_kept_if_the_instance_type_sets_none(own: JsonObject) -> None:
    spec = apply_to_spec(instancetype={}, **own)
    assert {key: spec[key] for key in own} == own


def test_node_selector_of_the_instance_type_is_copied() -> None:
    given = build_instancetype_spec(nodeSelector={"pool": "fast"})
    spec = build_spec()
    apply_placement(spec, given)
    assert spec.node_selector == given.node_selector
    assert spec.node_selector is not given.node_selector
