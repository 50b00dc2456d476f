"""
Decode ConversionReview requests and encode responses.

All versions of an API group have the same fields, so a conversion changes only apiVersion.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct, field

from virtshape.api.codec import to_tree
from virtshape.api.conversion import VERSIONS, convert_bytes
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError

API_VERSION: Final = "apiextensions.k8s.io/v1"
KIND: Final = "ConversionReview"
MAX_OBJECT_BYTES: Final = 3 * 1024 * 1024
"""Maximum size of one object, which is the API server's limit for request bodies."""


class Request(Struct, frozen=True):
    """Objects to convert, and the version to convert them to."""

    uid: str
    desired: str = field(name="desiredAPIVersion")
    objects: list[msgspec.Raw] = []


class _Review(Struct):
    api_version: str = field(default="", name="apiVersion")
    kind: str = ""
    request: Request | None = None


class _Head(Struct, gc=False):
    """The required fields of an object; a request is rejected at the first object that lacks one of these fields."""

    api_version: str = field(name="apiVersion")
    kind: str


class _Heads(Struct):
    objects: Sequence[_Head] = ()


class _Outline(Struct):
    request: _Heads | None = None


def answer_conversion(data: bytes) -> bytes:
    """Return the response to a ConversionReview; raise StatusError if the body is not a ConversionReview."""
    try:
        outline = _outline_decoder.decode(data)
        review = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StatusError(400, "BadRequest", f"the body is not a valid {KIND}: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, KIND) or review.request is None:
        raise StatusError(400, "BadRequest", f"expected a {KIND} of {API_VERSION} with a request")
    heads = outline.request.objects if outline.request else ()
    try:
        converted = [
            _convert(head, item, review.request.desired)
            for head, item in zip(heads, review.request.objects, strict=True)
        ]
    except StatusError as error:
        return _write(review.request.uid, [], to_tree(error.status))
    return _write(review.request.uid, converted, {"status": "Success"})


def _convert(head: _Head, item: msgspec.Raw, desired: str) -> bytes:
    if len(memoryview(item)) > MAX_OBJECT_BYTES:
        raise StatusError(
            413, "RequestEntityTooLarge", f"an object of the {KIND} is too large: limit is {MAX_OBJECT_BYTES}"
        )
    group, _, version = desired.partition("/")
    if head.api_version.partition("/")[0] != group or version not in VERSIONS.get(group, ()):
        reason = f"cannot convert {head.api_version} {head.kind} to {desired}: unknown version"
        raise StatusError(400, "BadRequest", reason)
    return convert_bytes(bytes(item), desired)


def _write(uid: str, objects: list[bytes], result: JsonObject) -> bytes:
    response = {"uid": uid, "result": result, "convertedObjects": [msgspec.Raw(item) for item in objects]}
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})


_decoder = msgspec.json.Decoder(_Review)
_outline_decoder = msgspec.json.Decoder(_Outline)
