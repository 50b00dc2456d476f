"""Revisions as an API server would write them."""

import json

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import encode
from virtshape.controllers.vm.canonicaljson import canonicalize


def test_keys_are_in_order_and_signs_escaped_as_an_api_server_does() -> None:
    data = {"spec": {"b": 1, "a": "<x> & é\u2028\n"}, "kind": "K"}
    revision = ControllerRevision(api_version="apps/v1", kind="ControllerRevision", data=data, revision=1)
    text = encode(canonicalize(revision)).decode()
    wanted = '{"kind":"K","spec":{"a":"\\u003cx\\u003e \\u0026 é\\u2028\\n","b":1}}'
    assert f'"data":{wanted}' in text
    assert json.loads(text)["data"] == data
