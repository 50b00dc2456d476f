"""Content negotiation: choose the object, a Table or metadata only, as JSON or YAML."""

from typing import Final, Literal

from msgspec import Struct

from virtshape.api.status import StatusError

ACCEPTED: Final = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
Shape = Literal["object", "table", "partial"]
_SHAPES: Final[dict[tuple[str, str], Shape]] = {
    ("Table", "v1"): "table",
    ("Table", "v1beta1"): "table",
    ("PartialObjectMetadata", "v1"): "partial",
    ("PartialObjectMetadata", "v1beta1"): "partial",
    ("PartialObjectMetadataList", "v1"): "partial",
    ("PartialObjectMetadataList", "v1beta1"): "partial",
}


class ResponseFormat(Struct, frozen=True):
    """A response format; `version` is the version of the meta.k8s.io kind, such as Table, or empty for objects."""

    shape: Shape = "object"
    version: str = ""
    yaml: bool = False
    of_list: bool = False
    """Whether the format applies to lists only."""


PLAIN: Final = ResponseFormat()


def choose_format(accept: str) -> ResponseFormat:
    """Return the supported format that the client prefers; raise StatusError 406 if there is none."""
    if not accept or accept == "application/json":
        return PLAIN
    for offer in _rank(accept):
        media, *parameters = (part.strip() for part in offer.split(";"))
        if media not in ("application/json", "application/yaml", "application/*", "*/*"):
            continue
        given = dict(parameter.split("=", 1) for parameter in parameters if "=" in parameter)
        yaml = media == "application/yaml"
        if "as" not in given:
            return ResponseFormat(yaml=yaml)
        shape = _SHAPES.get((given["as"], given.get("v", "")))
        if shape is not None and given.get("g") == "meta.k8s.io":
            return ResponseFormat(shape, given["v"], yaml, given["as"].endswith("List"))
    raise StatusError(406, "NotAcceptable", f"only the following media types are accepted: {ACCEPTED}")


def _rank(accept: str) -> list[str]:
    offers = accept.split(",")
    return sorted(offers, key=_negative_quality) if "q=" in accept else offers


def _negative_quality(offer: str) -> float:
    for parameter in offer.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return -float(value)
            except ValueError:
                return -1.0
    return -1.0


def media_type(content_type: str) -> str:
    """Return a content type in lower case and without its parameters."""
    return content_type.partition(";")[0].strip().lower()
