"""AdmissionReview and ConversionReview requests and responses."""

import base64
import json
from typing import Any

import pytest

from virtshape.admission.clusterstate import Admitted
from virtshape.admission.conversionreview import answer_conversion
from virtshape.admission.review import allow, deny, parse_admission_request
from virtshape.api.status import Cause, StatusError

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


def test_unknown_kind_is_not_found() -> None:
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


def test_unchanged_object_has_empty_patch() -> None:
    request = parse_admission_request(review())
    assert read(allow(request)) == {"uid": "u1", "allowed": True}
    assert request.new is not None
    assert read(allow(request, Admitted(request.new, []))) == {"uid": "u1", "allowed": True}
    assert read(allow(request, Admitted(dict(request.new), []))) == {"uid": "u1", "allowed": True}


def test_changed_object_has_a_patch_and_warnings() -> None:
    request = parse_admission_request(review())
    response = read(allow(request, Admitted({**(request.new or {}), "spec": {"running": True}}, ["mind this"])))
    patch = json.loads(base64.b64decode(response.pop("patch")))
    assert patch == [{"op": "add", "path": "/spec/running", "value": True}]
    assert response == {"uid": "u1", "allowed": True, "patchType": "JSONPatch", "warnings": ["mind this"]}


def test_rejection_has_all_causes() -> None:
    error = StatusError(422, "Invalid", "a, b", [Cause("FieldValueInvalid", f"bad {x}", f"spec.{x}") for x in "ab"])
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
def test_objects_are_converted_without_loss(version: str) -> None:
    wanted = f"instancetype.kubevirt.io/{version}"
    response = convert(wanted, OBJECT, OBJECT)
    assert response["result"] == {"status": "Success"}
    assert response["convertedObjects"] == [{**OBJECT, "apiVersion": wanted}] * 2


@pytest.mark.parametrize("wanted", ["instancetype.kubevirt.io/v9", "kubevirt.io/v1"], ids=["version", "group"])
def test_unknown_version_cannot_be_converted(wanted: str) -> None:
    result = convert(wanted, OBJECT)["result"]
    assert result["status"] == "Failure"
    assert f"to {wanted}: unknown version" in result["message"]


def test_invalid_conversion_review_is_rejected() -> None:
    with pytest.raises(StatusError):
        answer_conversion(b"{}")
