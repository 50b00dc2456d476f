"""Every kind of write preserves settings without effect and returns a warning."""

from collections.abc import Iterator

import pytest
from tests.support.loopback import Client, Response

from virtshape.api.model import JsonObject

PATH = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
OLDER = "/apis/kubevirt.io/v1alpha3/namespaces/kubevirt/kubevirts/kubevirt"
SETTINGS: JsonObject = {"cpuModel": "host-model", "colour": {"shade": "blue"}, "network": {"speed": 10}}
HEAD: JsonObject = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt"}}


@pytest.fixture(autouse=True)
def _restored(client: Client) -> Iterator[None]:
    """Restore the shared configuration after each test."""
    before = client.get(PATH).tree
    yield
    after = client.get(PATH).tree
    assert client.put(PATH, {**after, "spec": before["spec"]}).status == 200


def write(client: Client, way: str) -> Response:
    configuration = client.get(PATH).tree
    match way:
        case "put":
            return client.put(PATH, {**configuration, "spec": {"configuration": SETTINGS}}, fieldValidation="Strict")
        case "merge":
            return client.patch(PATH, {"spec": {"configuration": SETTINGS}})
        case _:
            return client.apply(PATH, {**HEAD, "spec": {"configuration": SETTINGS}}, force="true")


@pytest.mark.parametrize("way", ["put", "merge", "apply"])
def test_unknown_fields_of_the_configuration_are_preserved(client: Client, way: str) -> None:
    assert write(client, way).status == 200
    for path in (PATH, OLDER):
        kept = client.get(path).tree["spec"]["configuration"]
        assert {name: kept[name] for name in SETTINGS} == SETTINGS


def test_null_in_a_patch_removes_only_the_named_setting(client: Client) -> None:
    write(client, "merge")
    client.patch(PATH, {"spec": {"configuration": {"colour": None, "network": {"binding": None}}}})
    kept = client.get(PATH).tree["spec"]["configuration"]
    assert "colour" not in kept
    assert kept["network"]["speed"] == 10


def test_unsupported_kubevirt_settings_cause_a_warning_on_every_change_of_the_spec(client: Client) -> None:
    unsupported = "not supported by virtshape; it has no effect"
    first = client.patch(PATH, {"spec": {"imageTag": "v1", "configuration": {"migrations": {"disableTLS": True}}}})
    second = client.patch(PATH, {"metadata": {"labels": {"a": "b"}}})
    third = client.patch(PATH, {"spec": {"configuration": {"cpuModel": "host-model"}}})
    expected = [f"spec.configuration.migrations: {unsupported}", f"spec.imageTag: {unsupported}"]
    assert [sorted(each.warnings) for each in (first, second, third)] == [expected, [], expected]
    client.patch(PATH, {"spec": {"imageTag": None, "configuration": {"migrations": None}}})


def test_settings_for_pods_are_stored_with_a_warning(client: Client) -> None:
    settings = {"defaultRuntimeClass": "kata", "developerConfiguration": {"useEmulation": True}}
    reply = client.patch(PATH, {"spec": {"configuration": settings}})
    reason = "only affects guests in pods on a cluster; it has no effect on this server"
    fields = ("defaultRuntimeClass", "developerConfiguration.useEmulation")
    assert sorted(reply.warnings) == [f"spec.configuration.{field}: {reason}" for field in fields]
    assert reply.tree["spec"]["configuration"].items() >= settings.items()
    client.patch(PATH, {"spec": {"configuration": dict.fromkeys(settings)}})
