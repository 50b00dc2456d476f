"""
The bodies of writes: JSON or YAML, as trees of a kind.

Reads and checks, and changes nothing but what a kind does not have.
"""

from typing import Any, Final

import msgspec

from virtshape.api.kinds import Kind
from virtshape.api.status import StatusError
from virtshape.api.yaml import read_documents
from virtshape.apiserver.message import JSON, Request
from virtshape.apiserver.negotiation import ACCEPTED, media_type
from virtshape.apiserver.objects import Tree
from virtshape.apiserver.strictness import admit_fields

YAML: Final = "application/yaml"


def read_object(request: Request, kind: Kind, validation: str) -> tuple[Tree, list[str]]:
    """The object in a request's body, and what its author should know."""
    media = media_type(request.headers.get("content-type", "")) or JSON
    text: bytes | None = None
    if media == JSON:
        tree, text = read_json(request.body), request.body
    elif media == YAML:
        tree = read_yaml(request.body)
    else:
        raise refuse_media(ACCEPTED)
    if not isinstance(tree, dict):
        raise StatusError(400, "BadRequest", "the body of the request is not an object")
    return admit_fields(tree, text, kind, validation)


def read_json(body: bytes) -> Any:
    """The value of a JSON body."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StatusError(400, "BadRequest", f"couldn't get version/kind; json parse error: {error}") from None


def read_yaml(body: bytes) -> Tree:
    """The one object of a YAML body."""
    documents = read_documents(body, "body")
    if len(documents) != 1 or not isinstance(documents[0].tree, dict):
        raise StatusError(400, "BadRequest", "error decoding patch: expected one object")
    tree: Tree = documents[0].tree
    return tree


def refuse_media(accepted: str) -> StatusError:
    """The refusal of a body that is none of the types that are taken here."""
    words = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return StatusError(415, "UnsupportedMediaType", words)
