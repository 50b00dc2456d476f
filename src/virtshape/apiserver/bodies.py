"""Request bodies of writes: decode JSON or YAML and check apiVersion, kind and fields."""

from typing import Any

import msgspec

from virtshape.api.kinds import Kind, is_custom_resource
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.violation import invalid_error, invalid_value
from virtshape.api.yaml import read_documents
from virtshape.apiserver.encoding.negotiation import ACCEPTED, media_type
from virtshape.apiserver.message import JSON, YAML, Request
from virtshape.apiserver.validation.strictness import admit_fields


def read_object(
    request: Request, kind: Kind, validation: str, *, creating: bool = False
) -> tuple[JsonObject, list[str]]:
    """Return the object in a request body, and warnings for the client; raise StatusError if the body is invalid."""
    media = media_type(request.headers.get("content-type", "")) or JSON
    text: bytes | None = None
    if media == JSON:
        tree, text = read_json(request.body), request.body
    elif media == YAML:
        tree = read_yaml(request.body)
    else:
        raise media_type_error(ACCEPTED)
    if not isinstance(tree, dict):
        raise StatusError(400, "BadRequest", "the body of the request is not an object")
    return admit_fields(with_type(tree, kind), text, kind, validation, creating=creating)


def with_type(tree: JsonObject, kind: Kind, *, patching: bool = False) -> JsonObject:
    """
    Return the object with the apiVersion and kind of `kind`; raise StatusError if the object's values differ.

    Objects of built-in kinds may omit both fields.
    """
    version, name = tree.get("apiVersion") or "", tree.get("kind") or ""
    if (version, name) == (kind.api_version, kind.kind):
        return tree
    custom = is_custom_resource(kind)
    if patching:
        _validate_patched(tree, kind)
    elif not (isinstance(version, str) and isinstance(name, str)):
        message = "couldn't get version/kind; json parse error: apiVersion and kind must be strings"
        raise StatusError(
            400, "BadRequest", f"the object provided is unrecognized (must be of type {kind.kind}): {message}"
        )
    if not name and custom:
        raise StatusError(400, "BadRequest", f"Object 'Kind' is missing in '{msgspec.json.encode(tree).decode()}'")
    if version != kind.api_version and (version or custom):
        message = (
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )
        raise StatusError(400, "BadRequest", message)
    if name and name != kind.kind:
        raise _kind_error(tree, kind)
    return {**tree, "apiVersion": kind.api_version, "kind": kind.kind}


def _validate_patched(tree: JsonObject, kind: Kind) -> None:
    """Raise StatusError if a patch changed the apiVersion or kind of an object."""
    version, name = str(tree.get("apiVersion") or ""), tree.get("kind") or ""
    custom = is_custom_resource(kind)
    if custom and name:
        if version and version != kind.api_version:
            cause = invalid_value("apiVersion", version, f"must be {kind.api_version}")
            raise invalid_error(version.rpartition("/")[0], str(name), _read_name(tree), [cause])
    elif custom or version not in ("", kind.api_version) or name not in ("", kind.kind):
        message = f'no kind "{name}" is registered for version "{version}"'
        raise invalid_error("", "", "", [invalid_value("patch", msgspec.json.encode(tree).decode(), message)])


def _read_name(tree: JsonObject) -> str:
    metadata = tree.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def _kind_error(tree: JsonObject, kind: Kind) -> StatusError:
    given = tree["kind"]
    if not is_custom_resource(kind):
        head = f'{given} in version "{kind.version}" cannot be handled as a {kind.kind}'
        return StatusError(400, "BadRequest", f"{head}: the kind in the data does not match the expected kind")
    cause = invalid_value("kind", given, f"must be {kind.kind}")
    return invalid_error(kind.group, str(given), _read_name(tree), [cause])


def read_json(body: bytes) -> Any:
    """Decode a JSON body; raise StatusError 400 if the body is invalid."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StatusError(400, "BadRequest", f"couldn't get version/kind; json parse error: {error}") from None


def read_yaml(body: bytes) -> JsonObject:
    """Decode a YAML body; raise StatusError 400 unless the body contains exactly one object."""
    documents = read_documents(body, "body", most=2)
    if len(documents) != 1 or not isinstance(documents[0].tree, dict):
        raise StatusError(400, "BadRequest", "error decoding patch: expected one object")
    tree: JsonObject = documents[0].tree
    return tree


def media_type_error(accepted: str) -> StatusError:
    """Return the error for an unsupported content type."""
    message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return StatusError(415, "UnsupportedMediaType", message)
