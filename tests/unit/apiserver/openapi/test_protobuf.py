"""The protobuf form of the OpenAPI document has the same content, with the field numbers of gnostic."""

import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from virtshape.api.model import JsonObject
from virtshape.apiserver.openapi.documents import write_v2, write_v2_protobuf
from virtshape.apiserver.openapi.protobuf import encode_document


class Message:
    """A decoded protobuf message: the values of each field by field number."""

    def __init__(self, data: bytes) -> None:
        self.fields: dict[int, list[Any]] = {}
        for number, value in _read_fields(data):
            self.fields.setdefault(number, []).append(value)

    def messages(self, number: int) -> list["Message"]:
        return [Message(value) for value in self.fields.get(number, [])]

    def message(self, *numbers: int) -> "Message":
        found = self
        for number in numbers:
            (found,) = found.messages(number)
        return found

    def texts(self, number: int) -> list[str]:
        return [value.decode() for value in self.fields.get(number, [])]

    def text(self, number: int) -> str:
        return (self.texts(number) or [""])[0]

    def named(self, number: int) -> dict[str, "Message"]:
        return {entry.text(1): entry.message(2) for entry in self.messages(number)}


def _read_fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        match tag & 7:
            case 0:
                value, at = _read_varint(data, at)
                yield tag >> 3, value
            case 1:
                yield tag >> 3, struct.unpack_from("<d", data, at)[0]
                at += 8
            case 2:
                size, at = _read_varint(data, at)
                yield tag >> 3, data[at : at + size]
                at += size
            case kind:
                raise AssertionError(f"no field is of wire type {kind}")


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def read_schema(message: Message) -> JsonObject:
    """Return the JSON tree of a schema message."""
    tree: JsonObject = {}
    texts = {"$ref": 1, "format": 2, "description": 4, "pattern": 13}
    tree |= {name: message.text(number) for name, number in texts.items() if number in message.fields}
    tree |= {name: message.fields[n][0] for name, n in {"maximum": 7, "minimum": 9}.items() if n in message.fields}
    if 5 in message.fields:
        tree["default"] = json.loads(message.message(5).text(2))
    if 19 in message.fields:
        tree["required"] = message.texts(19)
    if 20 in message.fields:
        tree["enum"] = [json.loads(value.text(2)) for value in message.messages(20)]
    if 21 in message.fields:
        tree["additionalProperties"] = read_schema(message.message(21, 1))
    if 22 in message.fields:
        (tree["type"],) = message.message(22).texts(1)
    if 23 in message.fields:
        tree["items"] = read_schema(message.message(23, 1))
    if 25 in message.fields:
        properties = message.message(25).named(1)
        tree["properties"] = {name: read_schema(schema) for name, schema in properties.items()}
    return tree | read_extensions(message, 31)


def read_extensions(message: Message, number: int) -> JsonObject:
    return {name: json.loads(value.text(2)) for name, value in message.named(number).items()}


@pytest.fixture(scope="module")
def document() -> Message:
    return Message(write_v2_protobuf().body)


@pytest.fixture(scope="module")
def tree() -> JsonObject:
    tree: JsonObject = json.loads(write_v2().body)
    return tree


def test_version_and_title_in_protobuf_match_json(document: Message, tree: JsonObject) -> None:
    info = document.message(2)
    assert (document.text(1), info.text(1), info.text(2)) == ("2.0", tree["info"]["title"], tree["info"]["version"])


def test_definitions_in_protobuf_match_json(document: Message, tree: JsonObject) -> None:
    definitions = document.message(9).named(1)
    assert {name: read_schema(schema) for name, schema in definitions.items()} == tree["definitions"]


def test_paths_in_protobuf_match_json(document: Message, tree: JsonObject) -> None:
    methods = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
    found = {
        path: {method: item.message(number).text(5) for method, number in methods.items() if number in item.fields}
        for path, item in document.message(8).named(2).items()
    }
    assert found == {
        path: {method: item[method]["operationId"] for method in methods if method in item}
        for path, item in tree["paths"].items()
    }


def test_patch_has_dry_run_parameter_for_old_kubectl(document: Message) -> None:
    path = "/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines/{name}"
    patch = document.message(8).named(2)[path].message(8)
    kind = read_extensions(patch, 13)["x-kubernetes-group-version-kind"]
    assert kind == {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"}
    parameters = [parameter.message(1) for parameter in patch.messages(8)]
    queries = [parameter.message(2, 3).text(4) for parameter in parameters if 2 in parameter.fields]
    assert "dryRun" in queries


def test_path_and_body_parameters_are_distinct_in_protobuf(document: Message) -> None:
    item = document.message(8).named(2)["/api/v1/nodes/{name}"]
    in_path = [one.message(1, 2) for one in item.messages(9) if 4 in one.message(1, 2).fields]
    assert [parameter.message(4).text(4) for parameter in in_path] == ["name"]
    bodies = [parameter.message(1) for parameter in item.message(3).messages(8) if 1 in parameter.message(1).fields]
    assert [body.message(1).text(2) for body in bodies] == ["body"]


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param({"swagger": "2.0", "host": "x"}, id="of the document"),
        pytest.param({"definitions": {"A": {"oneOf": []}}}, id="of a schema"),
        pytest.param({"x-mine": 1}, id="extension of an object without extensions"),
        pytest.param({"paths": {"/": {"get": {"parameters": [{"in": "header"}]}}}}, id="of a parameter"),
    ],
)
def test_openapi_document_with_an_unknown_member_cannot_be_encoded(tree: JsonObject) -> None:
    with pytest.raises(KeyError):
        encode_document(tree)
