"""Fuzz target: AdmissionReviews, and the checks of the VM, instance type or preference in them."""

import json
from contextlib import suppress

from tests.fuzz.samples import OBJECTS
from tests.fuzz.target import Target

from virtshape.admission.review import allow, create_json_patch, deny, parse_admission_request
from virtshape.api.status import StatusError
from virtshape.apiserver.limits import validate_nesting
from virtshape.apiserver.patches.jsonpatch import patch_json
from virtshape.offline.lint import Linter
from virtshape.offline.lint.context import LintContext
from virtshape.offline.lint.objectscan import scan_objects


def run(data: bytes) -> None:
    """Decode a review, check its object as admission does, and write both responses."""
    try:
        validate_nesting(data)
        request = parse_admission_request(data)
    except StatusError:
        return
    request.find_kind()
    for response in (allow(request), deny(request, StatusError(422, "Invalid", "no"))):
        assert json.loads(response)["response"]["uid"] == request.uid
    if request.new is not None:
        text = json.dumps(request.new).encode()
        Linter(LintContext(*scan_objects([text]), catalog=False)).check_text(text, "review")
    if request.new is not None and request.old is not None:
        with suppress(StatusError):  # a JSON patch has a maximum number of operations
            assert patch_json(request.old, create_json_patch(request.old, request.new)) == request.new


def build_review(new: object, old: object = None) -> bytes:
    """Return an AdmissionReview."""
    request = {
        "uid": "u1",
        "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
        "operation": "UPDATE" if old else "CREATE",
        "userInfo": {"username": "ann", "groups": ["a"], "extra": {"k": ["v"]}},
        "object": new,
        "oldObject": old,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


TREES = [json.loads(text) for text in OBJECTS]
TARGET = Target(
    "reviews",
    run,
    (*map(build_review, TREES), build_review(TREES[0], TREES[1])),
    (b'"object":', b'"oldObject":', b"null", b'"operation":"DELETE"', b'"spec":', b'"domain":', b'"devices":'),
)
