"""
Parse OCI and Docker manifests of container images.

Callers verify the digests of the blobs that they read.
"""

import hashlib
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.reference import DIGEST

MAX_MANIFEST_BYTES: Final = 4 << 20
MAX_INDEX_DEPTH: Final = 4
"""Maximum depth of nested indexes that refer to the manifest of an image."""
MAX_LAYERS: Final = 500
"""Maximum number of layers in a container image; container runtimes allow 127."""
INDEXES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)


class Platform(Struct, frozen=True):
    """The platform of an image; for container disks, that of the guest."""

    os: str = ""
    architecture: str = ""


class Descriptor(Struct, frozen=True, rename="camel"):
    """A reference to a blob."""

    digest: str
    size: int = 0
    media_type: str = ""
    platform: Platform | None = None


class ConfigDescriptor(Struct, frozen=True):
    """A reference to the configuration of an image."""

    digest: str = ""


class Manifest(Struct, frozen=True, rename="camel"):
    """An image manifest with its layers, lowest first; or an index with one image per platform."""

    media_type: str = ""
    config: ConfigDescriptor | None = None
    layers: list[Descriptor] | None = None
    manifests: list[Descriptor] | None = None


class Layer(NamedTuple):
    """A layer or other blob: its name in the bundle or registry, and its digest."""

    name: str
    digest: str
    size: int = 0


def parse_manifest(content: bytes) -> Manifest:
    """Parse a manifest or index."""
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError as error:
        raise RefusedImageError(f"the container image's manifest cannot be read: {error}") from error
    for descriptor in [*(manifest.layers or ()), *(manifest.manifests or ())]:
        if not DIGEST.fullmatch(descriptor.digest):
            raise RefusedImageError(
                f"the container image's manifest contains {descriptor.digest!r}, which is not a sha256 digest"
            )
    if manifest.layers is None and manifest.manifests is None:
        raise RefusedImageError("the container image's manifest is of an unknown kind: it has no layers")
    return manifest


def choose_image(index: Manifest, architecture: str) -> Descriptor:
    """Return the image for an architecture from an index, or else the only image without an architecture."""
    offered = index.manifests or []
    for descriptor in offered:
        if descriptor.platform is not None and descriptor.platform.architecture == architecture:
            return descriptor
    plain = [one for one in offered if one.platform is None or not one.platform.architecture]
    if len(plain) != 1:
        known = sorted({one.platform.architecture for one in offered if one.platform is not None})
        raise RefusedImageError(
            f"the container image does not support {architecture}; it supports: {', '.join(known) or 'none'}"
        )
    return plain[0]


def list_layers(manifest: Manifest) -> list[Layer]:
    """Return the layers of an image, lowest first."""
    if len(manifest.layers or ()) > MAX_LAYERS:
        raise RefusedImageError(f"the container image has more than {MAX_LAYERS} layers")
    return [Layer(one.digest, one.digest, one.size) for one in manifest.layers or ()]


def find_config(manifest: Manifest) -> Layer | None:
    """Return the blob with the configuration of an image; None if the manifest has no valid digest for it."""
    digest = manifest.config.digest if manifest.config is not None else ""
    return Layer(digest, digest) if DIGEST.fullmatch(digest) else None


def digest_of(content: bytes) -> str:
    """Return the sha256 digest of content in the format of manifests."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def require_digest(content: bytes, digest: str) -> None:
    """Raise RefusedImageError if content does not have this digest."""
    if digest_of(content) != digest:
        raise RefusedImageError(f"the container image has the wrong digest: {digest_of(content)} instead of {digest}")
