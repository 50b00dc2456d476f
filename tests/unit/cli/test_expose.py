import pytest

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.cli.errors import CommandError
from virtshape.cli.expose import ServiceFlags, build_service, parse_kind


def build_replica_set(**selector: object) -> JsonObject:
    interface = {"name": "default", "masquerade": {}, "ports": [{"port": 22}]}
    spec = {"domain": {"devices": {"interfaces": [interface]}}, "networks": [{"name": "default", "pod": {}}]}
    return {"metadata": {"name": "web"}, "spec": {"selector": selector, "template": {"spec": spec}}}


@pytest.mark.parametrize("text", ["vmirs", "VMIRSs", "virtualmachineinstancereplicasets"])
def test_expose_accepts_several_spellings_of_a_kind(text: str) -> None:
    assert parse_kind(text) == "vmirs"


def test_service_of_a_replica_set_has_its_labels_and_ports() -> None:
    tree = build_replica_set(matchLabels={"app": "web"})
    assert to_tree(build_service("shop", "vmirs", tree, ServiceFlags("web")).spec) == {
        "type": "ClusterIP",
        "ports": [{"port": 22, "name": "port-1"}],
        "selector": {"app": "web"},
    }


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({}, "without any selector labels"),
        ({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}, "match expressions"),
    ],
    ids=["no labels", "expressions"],
)
def test_replica_set_that_a_service_cannot_select_is_rejected(selector: JsonObject, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        build_service("shop", "vmirs", build_replica_set(**selector), ServiceFlags("web", port=80))
