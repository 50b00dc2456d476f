"""Fuzz target: request bodies in Kubernetes' protobuf format."""

import json
from contextlib import suppress

from tests.fuzz.target import Target

from virtshape.api.status import StatusError
from virtshape.apiserver.encoding.protobuf import translate


def run(data: bytes) -> None:
    """Convert a body to JSON."""
    with suppress(StatusError):
        json.loads(translate(data))


def build_field(number: int, content: bytes) -> bytes:
    """Return a field with a length below 128."""
    return bytes([number << 3 | 2, len(content)]) + content


def build_body(kind: bytes, content: bytes) -> bytes:
    """Return a body with an object of this kind, in version v1."""
    types = build_field(1, b"v1") + build_field(2, kind)
    return b"k8s\0" + build_field(1, types) + build_field(2, content)


METADATA = build_field(1, build_field(1, b"fuzzed") + build_field(11, build_field(1, b"a") + build_field(2, b"b")))
TARGET = Target(
    "protobuf",
    run,
    (
        build_body(b"ConfigMap", METADATA + build_field(2, build_field(1, b"k") + build_field(2, b"v"))),
        build_body(b"Namespace", METADATA),
        build_body(b"Pod", METADATA + build_field(2, build_field(2, build_field(1, b"a") + build_field(2, b"b")))),
        build_body(b"Event", METADATA + build_field(6, b"\x08\x80\x80\x80\x80\x08\x10\x05") + b"\x40\x05"),
    ),
    (b"k8s\0", b"\x80\x80", b"\x08", b"\x12", b"\xff" * 10, b"Service", b"Secret", b"\x0a"),
)
