"""Decode AdmissionReview requests, and encode responses, which change objects with JSON patches."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct, field

from virtshape.admission.clusterstate import Admitted
from virtshape.api.codec import to_tree
from virtshape.api.kinds import Kind, find_kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"


class GroupVersionKind(Struct, frozen=True):
    """Group, version and kind of an object."""

    kind: str
    version: str
    group: str = ""


class UserInfo(Struct, frozen=True):
    """The user who makes the request."""

    username: str = ""
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = {}


class AdmissionRequest(Struct, frozen=True, rename="camel"):
    """The request in an AdmissionReview."""

    uid: str
    kind: GroupVersionKind
    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    user_info: UserInfo = UserInfo()
    new: JsonObject | None = field(default=None, name="object")
    old: JsonObject | None = field(default=None, name="oldObject")
    dry_run: bool | None = None

    def find_kind(self) -> Kind | None:
        """Return the kind of the object, or None if it is unknown."""
        return find_kind(
            f"{self.kind.group}/{self.kind.version}" if self.kind.group else self.kind.version, self.kind.kind
        )


class _Review(Struct):
    api_version: str = field(default="", name="apiVersion")
    kind: str = ""
    request: AdmissionRequest | None = None


def parse_admission_request(data: bytes) -> AdmissionRequest:
    """Return the request in an AdmissionReview; raise StatusError 400 if the body is not an AdmissionReview."""
    try:
        review = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StatusError(400, "BadRequest", f"the body is not a valid {KIND}: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, KIND) or review.request is None:
        stated = f"{review.api_version} {review.kind}".strip() or "an object without apiVersion and kind"
        raise StatusError(400, "BadRequest", f"expected a {KIND} of {API_VERSION} with a request, got {stated}")
    return review.request


def allow(request: AdmissionRequest, admitted: Admitted | None = None, warnings: Sequence[str] = ()) -> bytes:
    """Return the response that allows the request, with a JSON patch if admission changed the object."""
    response: JsonObject = {"uid": request.uid, "allowed": True}
    if admitted is not None and admitted.tree is not request.new:
        patch = create_json_patch(request.new, admitted.tree)
        if patch:
            response |= {"patchType": "JSONPatch", "patch": b64encode(msgspec.json.encode(patch)).decode()}
    warnings = [*(admitted.warnings if admitted is not None else ()), *warnings]
    if warnings:
        response["warnings"] = warnings
    return _write(response)


def deny(request: AdmissionRequest, error: StatusError) -> bytes:
    """Return the response that rejects the request, with all causes."""
    response: JsonObject = {"uid": request.uid, "allowed": False, "status": to_tree(error.status)}
    return _write(response | ({"warnings": list(error.warnings)} if error.warnings else {}))


def _write(response: JsonObject) -> bytes:
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})


_decoder = msgspec.json.Decoder(_Review)


def create_json_patch(before: Any, after: Any) -> list[JsonObject]:
    """
    Return the operations that turn `before` into `after`; an empty list if both are equal.

    Lists of equal length are compared item by item; other lists are replaced.
    """
    return list(_compare(before, after, ""))


def _compare(before: Any, after: Any, path: str) -> Iterator[JsonObject]:
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_members(before, after, path)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _compare(old, new, f"{path}/{number}")
    elif type(before) is not type(after) or before != after:
        # Types are compared too, because 1 == True in Python but not in JSON.
        yield {"op": "replace", "path": path, "value": after}


def _compare_members(before: JsonObject, after: JsonObject, path: str) -> Iterator[JsonObject]:
    for key, value in before.items():
        if key not in after:
            yield {"op": "remove", "path": f"{path}/{_escape(key)}"}
        else:
            yield from _compare(value, after[key], f"{path}/{_escape(key)}")
    for key, value in after.items():
        if key not in before:
            yield {"op": "add", "path": f"{path}/{_escape(key)}", "value": value}


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
