"""Validation of keys and values of ConfigMaps and Secrets."""

import pytest

from virtshape.api.kinds import Kind, find_kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.validation.configdata import check_config_data

OPAQUE = "Secret"
CONFIG = "ConfigMap"


def kind(name: str) -> Kind:
    found = find_kind("v1", name)
    assert found is not None
    return found


CHECKED: dict[str, tuple[str, JsonObject, list[str]]] = {
    "valid keys": (CONFIG, {"data": {"a.b-c_D": "1"}, "binaryData": {"b": "eQ=="}}, []),
    "no data": (OPAQUE, {"type": "Opaque"}, []),
    "invalid keys": (CONFIG, {"data": {"not a key": "", "..": "", "..a": "", ".": "", ".ok": ""}}, ["data"] * 4),
    "long key": (OPAQUE, {"data": {"a" * 254: ""}}, ["data"]),
    "key in data and binaryData": (CONFIG, {"data": {"a": ""}, "binaryData": {"a": ""}}, ["data"]),
    "TLS secret without data": (OPAQUE, {"type": "kubernetes.io/tls"}, ["data", "data"]),
    "TLS secret without a key": (OPAQUE, {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}, ["data"]),
    "basic-auth secret without data": (OPAQUE, {"type": "kubernetes.io/basic-auth"}, ["data", "data"]),
    "basic-auth secret with a user name": (
        OPAQUE,
        {"type": "kubernetes.io/basic-auth", "data": {"username": "eQ=="}},
        [],
    ),
    "ssh-auth secret without a key": (OPAQUE, {"type": "kubernetes.io/ssh-auth"}, ["data"]),
    "service account token without an account": (
        OPAQUE,
        {"type": "kubernetes.io/service-account-token"},
        ["metadata.annotations"],
    ),
    "other kind": ("Pod", {"data": {"not a key": ""}}, []),
}


@pytest.mark.parametrize(("name", "tree", "expected"), CHECKED.values(), ids=CHECKED)
def test_only_invalid_keys_and_values_of_config_data_are_reported(
    name: str, tree: JsonObject, expected: list[str]
) -> None:
    assert [cause.field.partition("[")[0] for cause in check_config_data(kind(name), tree)] == expected


@pytest.mark.parametrize(("name", "field"), [(OPAQUE, "data"), (CONFIG, "binaryData")])
def test_secret_or_config_map_with_invalid_base64_is_rejected(name: str, field: str) -> None:
    assert check_config_data(kind(name), {field: {"a": "YWJj\nZGVm"}}) == []
    with pytest.raises(StatusError) as caught:
        check_config_data(kind(name), {field: {"a": "not base64!"}})
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
