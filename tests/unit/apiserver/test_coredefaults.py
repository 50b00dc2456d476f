import pytest

from virtshape.api.kinds import Kind, find_resource
from virtshape.api.model import JsonObject
from virtshape.apiserver.coredefaults import prepare_for_create, prepare_for_update


def kind_of(plural: str, group: str = "", version: str = "v1") -> Kind:
    kind = find_resource(group, version, plural)
    assert kind is not None
    return kind


@pytest.mark.parametrize(
    ("plural", "tree", "completed"),
    [
        pytest.param(
            "namespaces", {}, {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}, id="namespace"
        ),
        pytest.param(
            "namespaces",
            {"spec": {"finalizers": ["example.com/x"]}, "status": {"phase": "Odd"}},
            {"spec": {"finalizers": ["example.com/x", "kubernetes"]}, "status": {"phase": "Active"}},
            id="namespace with a finalizer",
        ),
        pytest.param("pods", {"status": {"phase": "Running"}}, {"status": {"phase": "Pending"}}, id="pod"),
        pytest.param(
            "events",
            {"reportingComponent": "me"},
            {"eventTime": None, "reportingComponent": "me", "reportingInstance": ""},
            id="event",
        ),
        pytest.param("configmaps", {"data": {}}, {"data": {}}, id="anything else"),
    ],
)
def test_new_object_gets_the_initial_fields_of_its_kind(plural: str, tree: JsonObject, completed: JsonObject) -> None:
    assert prepare_for_create(kind_of(plural), tree) == completed


def test_namespace_finalizers_change_only_through_finalize() -> None:
    old = {"spec": {"finalizers": ["kubernetes"]}}
    assert prepare_for_update(kind_of("namespaces"), {"spec": {}}, old, "") == old
    assert prepare_for_update(kind_of("namespaces"), {"spec": {}}, old, "finalize") == {"spec": {}}
    assert prepare_for_update(kind_of("pods"), {"spec": {}}, old, "") == {"spec": {}}
