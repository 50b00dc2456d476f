"""ConfigMaps and Secrets: which keys and contents they may have."""

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
    "all well": (CONFIG, {"data": {"a.b-c_D": "1"}, "binaryData": {"b": "eQ=="}}, []),
    "nothing": (OPAQUE, {"type": "Opaque"}, []),
    "keys": (CONFIG, {"data": {"not a key": "", "..": "", "..a": "", ".": "", ".ok": ""}}, ["data"] * 4),
    "a long key": (OPAQUE, {"data": {"a" * 254: ""}}, ["data"]),
    "a key of both": (CONFIG, {"data": {"a": ""}, "binaryData": {"a": ""}}, ["data"]),
    "a certificate without its parts": (OPAQUE, {"type": "kubernetes.io/tls"}, ["data", "data"]),
    "half a certificate": (OPAQUE, {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}, ["data"]),
    "neither name nor password": (OPAQUE, {"type": "kubernetes.io/basic-auth"}, ["data", "data"]),
    "a name alone": (OPAQUE, {"type": "kubernetes.io/basic-auth", "data": {"username": "eQ=="}}, []),
    "no key": (OPAQUE, {"type": "kubernetes.io/ssh-auth"}, ["data"]),
    "nobody's token": (OPAQUE, {"type": "kubernetes.io/service-account-token"}, ["metadata.annotations"]),
    "another kind": ("Pod", {"data": {"not a key": ""}}, []),
}


@pytest.mark.parametrize(("name", "tree", "expected"), CHECKED.values(), ids=CHECKED)
def test_problems_of_config_data(name: str, tree: JsonObject, expected: list[str]) -> None:
    assert [cause.field.partition("[")[0] for cause in check_config_data(kind(name), tree)] == expected


@pytest.mark.parametrize(("name", "field"), [(OPAQUE, "data"), (CONFIG, "binaryData")])
def test_invalid_base64_is_rejected(name: str, field: str) -> None:
    assert check_config_data(kind(name), {field: {"a": "YWJj\nZGVm"}}) == []
    with pytest.raises(StatusError) as caught:
        check_config_data(kind(name), {field: {"a": "not base64!"}})
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
