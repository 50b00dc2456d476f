"""Fuzz target: ConversionReviews and the objects in ControllerRevisions."""

import json
from contextlib import suppress

from tests.fuzz.objects import read_body
from tests.fuzz.samples import OBJECTS
from tests.fuzz.target import Target

from virtshape.admission.conversionreview import answer_conversion
from virtshape.api.conversion import convert_bytes, read_payload_version, read_revision_payload
from virtshape.api.status import StatusError
from virtshape.apiserver.limits import validate_nesting

KINDS = ("VirtualMachineInstancetype", "VirtualMachineClusterPreference")
STORED = "instancetype.kubevirt.io/v1beta2"


def run(data: bytes) -> None:
    """Answer a ConversionReview, convert an object there and back, and read the object of a revision."""
    with suppress(StatusError):
        validate_nesting(data)
        assert "response" in json.loads(answer_conversion(data))
    with suppress(StatusError):
        tree = read_body(data)
        if isinstance(tree, dict):
            check_conversion(data)
        for kind in KINDS:
            with suppress(StatusError):
                read_payload_version(tree, kind)
                read_revision_payload(tree, kind)


def check_conversion(data: bytes) -> None:
    """Check that a conversion only changes `apiVersion`; the object is canonical JSON, as objects are stored."""
    before = json.dumps(json.loads(data), separators=(",", ":")).encode()
    after = convert_bytes(before, STORED)
    assert json.loads(after) == {**json.loads(before), "apiVersion": STORED}


def build_review(*objects: object) -> bytes:
    """Return a ConversionReview with these objects."""
    request = {"uid": "u1", "desiredAPIVersion": STORED, "objects": objects}
    return json.dumps(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    ).encode()


TARGET = Target(
    "conversion",
    run,
    (
        build_review(*(json.loads(text) for text in OBJECTS[:4])),
        build_review({"apiVersion": "instancetype.kubevirt.io/v1alpha1", "kind": KINDS[0], "metadata": {}, "spec": {}}),
        b'{"apiVersion":"instancetype.kubevirt.io/v1beta1","spec":"eyJjcHUiOnsiZ3Vlc3QiOjF9fQ=="}',
        b'{"apiVersion":"","spec":"e30="}',
        *OBJECTS[:4],
    ),
    (b'"apiVersion":', b'"objects":', b'"desiredAPIVersion":', b"v1alpha1", b"kubevirt.io/v1", b'\\"', b"\\u0041"),
)
