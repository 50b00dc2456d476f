"""Canonical JSON of revisions."""

import json

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import encode
from virtshape.controllers.vm.canonicaljson import canonicalize


def test_keys_are_sorted_and_characters_escaped_as_in_kube_apiserver() -> None:
    data = {"spec": {"b": 1, "a": "<x> & é\u2028\n"}, "kind": "K"}
    revision = ControllerRevision(api_version="apps/v1", kind="ControllerRevision", data=data, revision=1)
    text = encode(canonicalize(revision)).decode()
    wanted = '{"kind":"K","spec":{"a":"\\u003cx\\u003e \\u0026 é\\u2028\\n","b":1}}'
    assert f'"data":{wanted}' in text
    assert json.loads(text)["data"] == data
