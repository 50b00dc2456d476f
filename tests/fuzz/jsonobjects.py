"""Fuzz target: JSON objects of any kind, as request bodies and as stored objects."""

from contextlib import suppress

from tests.fuzz.samples import OBJECTS
from tests.fuzz.target import Target

from virtshape.api.codec import decode_object, encode
from virtshape.api.kinds import find_kind
from virtshape.api.model import Model
from virtshape.api.problems import DecodeError
from virtshape.api.status import StatusError
from virtshape.apiserver.bodies import read_object
from virtshape.apiserver.limits import validate_nesting
from virtshape.apiserver.message import Request

VM = find_kind("kubevirt.io/v1", "VirtualMachine")


def run(data: bytes) -> None:
    """Decode the object as the server and as offline commands do; what is encoded decodes to the same object."""
    with suppress(StatusError):
        validate_nesting(data)
        with suppress(DecodeError):
            check_round_trip(decode_object(data))
        assert VM is not None
        for validation in ("Strict", "Warn"):
            read_object(Request("POST", "/", {}, data), VM, validation, creating=True)


def check_round_trip(decoded: Model) -> None:
    """Check that the JSON of an object decodes to the same object."""
    assert decode_object(encode(decoded)) == decoded


TARGET = Target(
    "json",
    run,
    (*OBJECTS, b'{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","spec":{"template":null},"spec":{}}'),
    (b'"spec":', b'"metadata":', b"null", b"1e999", b"-", b"\\ud800", b"[", b"{", b'"kind":"Pod"', b"/*"),
)
