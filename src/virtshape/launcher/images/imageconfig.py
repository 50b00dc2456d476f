"""Parse the configuration of container images: the environment and labels that images set for their containers."""

from typing import Final

import msgspec
from msgspec import Struct

from virtshape.launcher.images.errors import RefusedImageError

_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class ImageConfig(Struct, frozen=True, omit_defaults=True):
    """Environment variables (`NAME=value`) and labels of a container image."""

    environment: list[str] = []
    labels: dict[str, str] = {}


class _Execution(Struct):
    """Settings for containers, with the field names that Docker and OCI use."""

    environment: list[str] | None = msgspec.field(name="Env", default=None)
    labels: dict[str, str] | None = msgspec.field(name="Labels", default=None)


class _Document(Struct):
    config: _Execution | None = None


def parse_image_config(content: bytes) -> ImageConfig:
    """Parse the configuration of an image; raise RefusedImageError if the configuration cannot be read."""
    try:
        document = msgspec.json.decode(content, type=_Document)
    except _UNREADABLE as error:
        raise RefusedImageError(f"the container image's configuration cannot be read: {error}") from error
    found = document.config or _Execution()
    return ImageConfig(found.environment or [], found.labels or {})
