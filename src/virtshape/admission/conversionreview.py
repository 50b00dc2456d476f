"""
ConversionReview, as an API server asks for objects at another version: the question read, the answer written.

Pure. Versions of our groups share their fields, so nothing of an object changes but what it says its version is.
"""

from typing import Any, Final

import msgspec
from msgspec import Struct, field

from virtshape.api.codec import to_tree
from virtshape.api.conversion import VERSIONS, convert_bytes
from virtshape.api.status import StatusError

API_VERSION: Final = "apiextensions.k8s.io/v1"
KIND: Final = "ConversionReview"


class Request(Struct, frozen=True):
    """Objects, and the version that they are wanted at."""

    uid: str
    desired: str = field(name="desiredAPIVersion")
    objects: list[msgspec.Raw] = []


class _Review(Struct):
    api_version: str = field(default="", name="apiVersion")
    kind: str = ""
    request: Request | None = None


class _Head(Struct):
    api_version: str = field(default="", name="apiVersion")
    kind: str = ""


def answer_conversion(data: bytes) -> bytes:
    """The answer to a request's body, whether the objects can be had at the version or not; StatusError for others."""
    try:
        review = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StatusError(400, "BadRequest", f"the body is no {KIND}: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, KIND) or review.request is None:
        raise StatusError(400, "BadRequest", f"a {KIND} of {API_VERSION} with a request is asked for")
    try:
        converted = [_convert(bytes(item), review.request.desired) for item in review.request.objects]
    except StatusError as error:
        return _write(review.request.uid, [], to_tree(error.status))
    return _write(review.request.uid, converted, {"status": "Success"})


def _convert(item: bytes, desired: str) -> bytes:
    head = _head_decoder.decode(item)
    group, _, version = desired.partition("/")
    if head.api_version.partition("/")[0] != group or version not in VERSIONS.get(group, ()):
        reason = f"{head.api_version} {head.kind} cannot be had as {desired}: there is no such version"
        raise StatusError(400, "BadRequest", reason)
    return convert_bytes(item, desired)


def _write(uid: str, objects: list[bytes], result: dict[str, Any]) -> bytes:
    response = {"uid": uid, "result": result, "convertedObjects": [msgspec.Raw(item) for item in objects]}
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})


_decoder = msgspec.json.Decoder(_Review)
_head_decoder = msgspec.json.Decoder(_Head)
