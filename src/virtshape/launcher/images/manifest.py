"""
Manifests of container images, in the forms of OCI and of Docker.

Pure: bytes in, layers out. Digests of what they name are checked by whoever reads it.
"""

import hashlib
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.reference import DIGEST

LARGEST: Final = 4 << 20
MAX_LAYERS: Final = 500
"""The most layers of a container image; container runtimes stop at 127."""
INDEXES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)


class Platform(Struct, frozen=True):
    """What an image runs on; disks are offered under the platform of the guest."""

    os: str = ""
    architecture: str = ""


class Descriptor(Struct, frozen=True, rename="camel"):
    """A blob that another one names."""

    digest: str
    size: int = 0
    media_type: str = ""
    platform: Platform | None = None


class Manifest(Struct, frozen=True, rename="camel"):
    """An image with its layers, the lowest first; or an index with one image per platform."""

    media_type: str = ""
    layers: list[Descriptor] | None = None
    manifests: list[Descriptor] | None = None


class Layer(NamedTuple):
    """A layer: where to find it, and the digest that its bytes must have."""

    name: str
    digest: str
    size: int = 0


def parse_manifest(content: bytes) -> Manifest:
    """Read a manifest or an index."""
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError as error:
        raise RefusedImageError(f"the container image's manifest cannot be read: {error}") from error
    for descriptor in [*(manifest.layers or ()), *(manifest.manifests or ())]:
        if not DIGEST.fullmatch(descriptor.digest):
            raise RefusedImageError(f"the container image's manifest has no sha256 digest but {descriptor.digest!r}")
    if manifest.layers is None and manifest.manifests is None:
        raise RefusedImageError("the container image's manifest is of an unknown kind: it has no layers")
    return manifest


def choose_image(index: Manifest, architecture: str) -> Descriptor:
    """Pick the image for an architecture from an index; one that says nothing of platforms will do."""
    offered = index.manifests or []
    for descriptor in offered:
        if descriptor.platform is not None and descriptor.platform.architecture == architecture:
            return descriptor
    plain = [one for one in offered if one.platform is None or not one.platform.architecture]
    if len(plain) != 1:
        known = sorted({one.platform.architecture for one in offered if one.platform is not None})
        raise RefusedImageError(
            f"the container image has nothing for {architecture}, only for {', '.join(known) or 'none'}"
        )
    return plain[0]


def list_layers(manifest: Manifest) -> list[Layer]:
    """Return the layers of an image, the lowest first."""
    if len(manifest.layers or ()) > MAX_LAYERS:
        raise RefusedImageError(f"the container image has more than {MAX_LAYERS} layers")
    return [Layer(one.digest, one.digest, one.size) for one in manifest.layers or ()]


def digest_of(content: bytes) -> str:
    """The digest of bytes, as manifests write it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def check_digest(content: bytes, digest: str) -> None:
    """Refuse bytes that are not the ones a digest was made of."""
    if digest_of(content) != digest:
        raise RefusedImageError(
            f"the container image is not what it claims to be: {digest_of(content)} is not {digest}"
        )
