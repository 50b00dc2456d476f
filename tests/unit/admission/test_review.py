"""AdmissionReview and ConversionReview requests and responses."""

import base64
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtshape.admission.clusterstate import Admitted
from virtshape.admission.conversionreview import MAX_OBJECT_BYTES, answer_conversion
from virtshape.admission.review import allow, create_json_patch, deny, parse_admission_request
from virtshape.api.fielderror import FieldError
from virtshape.api.status import StatusError
from virtshape.apiserver.patches.jsonpatch import patch_json

REQUEST: dict[str, Any] = {
    "uid": "u1",
    "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
    "resource": {"group": "kubevirt.io", "version": "v1", "resource": "virtualmachines"},
    "operation": "CREATE",
    "name": "vm1",
    "namespace": "ns",
    "userInfo": {"username": "ann", "groups": ["a", "b"], "extra": {"k": ["v"]}},
    "object": {"metadata": {"name": "vm1"}, "spec": {}},
    "oldObject": None,
    "dryRun": True,
    "options": {"kind": "CreateOptions"},
}


def review(**changes: Any) -> bytes:
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": REQUEST | changes}
    ).encode()


def read(body: bytes) -> dict[str, Any]:
    tree = json.loads(body)
    assert (tree["apiVersion"], tree["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = tree["response"]
    return response


def test_admission_request_is_decoded() -> None:
    request = parse_admission_request(review())
    kind = request.find_kind()
    assert kind is not None
    assert (kind.kind, request.operation, request.namespace, request.name) == (
        "VirtualMachine",
        "CREATE",
        "ns",
        "vm1",
    )
    assert (request.user_info.username, list(request.user_info.groups)) == ("ann", ["a", "b"])
    assert (request.new, request.old, request.dry_run) == (REQUEST["object"], None, True)


def test_unknown_kind_in_an_admission_request_is_not_found() -> None:
    assert parse_admission_request(review(kind={"group": "", "version": "v9", "kind": "Thing"})).find_kind() is None


INVALID = {
    "not JSON": b"{",
    "other kind": b'{"apiVersion":"v1","kind":"Pod"}',
    "older version": review().replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"),
    "no request": b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
}


@pytest.mark.parametrize("data", INVALID.values(), ids=INVALID.keys())
def test_invalid_admission_review_is_rejected(data: bytes) -> None:
    with pytest.raises(StatusError) as caught:
        parse_admission_request(data)
    assert caught.value.code == 400


def test_admission_response_for_an_unchanged_object_has_no_patch() -> None:
    request = parse_admission_request(review())
    assert read(allow(request)) == {"uid": "u1", "allowed": True}
    assert request.new is not None
    assert read(allow(request, Admitted(request.new, []))) == {"uid": "u1", "allowed": True}
    assert read(allow(request, Admitted(dict(request.new), []))) == {"uid": "u1", "allowed": True}


def test_admission_response_for_a_changed_object_has_a_patch_and_warnings() -> None:
    request = parse_admission_request(review())
    response = read(allow(request, Admitted({**(request.new or {}), "spec": {"running": True}}, ["mind this"])))
    patch = json.loads(base64.b64decode(response.pop("patch")))
    assert patch == [{"op": "add", "path": "/spec/running", "value": True}]
    assert response == {"uid": "u1", "allowed": True, "patchType": "JSONPatch", "warnings": ["mind this"]}


def test_admission_rejection_response_has_all_causes() -> None:
    error = StatusError(422, "Invalid", "a, b", [FieldError(f"spec.{x}", f"bad {x}") for x in "ab"])
    error.warnings = ("old",)
    response = read(deny(parse_admission_request(review()), error.about("kubevirt.io", "virtualmachines", "vm1")))
    assert (response["uid"], response["allowed"], response["warnings"]) == ("u1", False, ["old"])
    assert response["status"]["code"] == 422
    assert response["status"]["details"] == {
        "name": "vm1",
        "group": "kubevirt.io",
        "kind": "virtualmachines",
        "causes": [{"reason": "FieldValueInvalid", "message": f"bad {x}", "field": f"spec.{x}"} for x in "ab"],
    }


def convert(desired: str, *objects: dict[str, Any]) -> dict[str, Any]:
    request = {"uid": "c1", "desiredAPIVersion": desired, "objects": list(objects)}
    tree = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    review = json.loads(answer_conversion(json.dumps(tree).encode()))
    response: dict[str, Any] = review["response"]
    assert response["uid"] == "c1"
    return response


OBJECT = {
    "apiVersion": "instancetype.kubevirt.io/v1beta2",
    "kind": "VirtualMachineInstancetype",
    "metadata": {"name": "custom", "labels": {"a": "ä"}},
    "spec": {},
}


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2", "v1beta1", "v1beta2"])
def test_conversion_review_converts_objects_without_loss(version: str) -> None:
    wanted = f"instancetype.kubevirt.io/{version}"
    response = convert(wanted, OBJECT, OBJECT)
    assert response["result"] == {"status": "Success"}
    assert response["convertedObjects"] == [{**OBJECT, "apiVersion": wanted}] * 2


@pytest.mark.parametrize("wanted", ["instancetype.kubevirt.io/v9", "kubevirt.io/v1"], ids=["version", "group"])
def test_conversion_to_an_unknown_version_or_group_fails(wanted: str) -> None:
    result = convert(wanted, OBJECT)["result"]
    assert result["status"] == "Failure"
    assert f"to {wanted}: unknown version" in result["message"]


def pack_conversion(objects: bytes) -> bytes:
    head = b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"c1",'
    return head + b'"desiredAPIVersion":"kubevirt.io/v1","objects":[' + objects + b"]}}"


INVALID_CONVERSIONS = {
    "not a review": b"{}",
    "number": pack_conversion(b"1"),
    "null": pack_conversion(b"null"),
    "no apiVersion": pack_conversion(b'{"kind":"VirtualMachine"}'),
    "no kind": pack_conversion(b'{"apiVersion":"kubevirt.io/v1"}'),
    "deep nesting": pack_conversion(b"[" * 100_000),
}


@pytest.mark.parametrize("body", INVALID_CONVERSIONS.values(), ids=INVALID_CONVERSIONS)
def test_invalid_conversion_review_is_rejected(body: bytes) -> None:
    with pytest.raises(StatusError) as refused:
        answer_conversion(body)
    assert refused.value.code == 400


def test_conversion_review_of_many_values_uses_little_memory() -> None:
    body = pack_conversion(b"1," * 4_000_000 + b"1")
    tracemalloc.start()
    try:
        with pytest.raises(StatusError):
            answer_conversion(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(body)


def test_too_large_object_is_not_converted() -> None:
    large = {**OBJECT, "spec": {"a": "x" * MAX_OBJECT_BYTES}}
    result = convert("instancetype.kubevirt.io/v1beta1", large)["result"]
    assert (result["status"], result["code"]) == ("Failure", 413)


CASES: dict[str, tuple[Any, Any, list[dict[str, Any]]]] = {
    "equal trees": ({"a": 1}, {"a": 1}, []),
    "added member": ({}, {"a": {"b": 1}}, [{"op": "add", "path": "/a", "value": {"b": 1}}]),
    "removed member": ({"a": 1, "b": 2}, {"b": 2}, [{"op": "remove", "path": "/a"}]),
    "changed member": ({"a": {"b": 1}}, {"a": {"b": 2}}, [{"op": "replace", "path": "/a/b", "value": 2}]),
    "changed list item": ({"a": [1, 2]}, {"a": [1, 3]}, [{"op": "replace", "path": "/a/1", "value": 3}]),
    "longer list": ({"a": [1]}, {"a": [1, 2]}, [{"op": "replace", "path": "/a", "value": [1, 2]}]),
    "keys with special characters of JSON pointers": (
        {},
        {"kubevirt.io/a~b": "x"},
        [{"op": "add", "path": "/kubevirt.io~1a~0b", "value": "x"}],
    ),
    "true in place of 1": ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
}


@pytest.mark.parametrize(("before", "after", "patch"), CASES.values(), ids=CASES.keys())
def test_generated_patch_has_the_expected_operations(before: Any, after: Any, patch: list[dict[str, Any]]) -> None:
    assert create_json_patch(before, after) == patch


TREES = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["x", "y"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b/c", "d~e"]), inner, max_size=3)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b/c", "d~e"]), TREES, max_size=3)


@given(OBJECTS, OBJECTS)
def test_generated_patch_turns_the_first_tree_into_the_second(before: Any, after: Any) -> None:
    assert patch_json(before, create_json_patch(before, after)) == after
