"""Write an image as an OCI layout in a tar archive, which `ctr images import`, skopeo and podman read."""

import hashlib
import io
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

LAYER_TYPE: Final = "application/vnd.oci.image.layer.v1.tar"
CONFIG_TYPE: Final = "application/vnd.oci.image.config.v1+json"
MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
INDEX_TYPE: Final = "application/vnd.oci.image.index.v1+json"


class Layer(NamedTuple):
    """The archive of a layer, and the digest of its uncompressed content."""

    path: Path
    content_digest: str
    created_by: str
    compression: str = "+zstd"
    """Suffix of the media type; empty for an uncompressed archive."""


class Settings(NamedTuple):
    """Settings in the configuration of an image."""

    user: str
    entrypoint: list[str]
    command: list[str]
    variables: dict[str, str]
    labels: dict[str, str]
    directory: str = "/"


def write_image(
    target: Path, reference: str, architecture: str, epoch: int, settings: Settings, layers: list[Layer]
) -> str:
    """Write the archive of an image, with its full reference, and return the digest of its manifest."""
    created = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = _encode(_build_config(architecture, created, settings, layers))
    blobs = {_digest(config): config}
    described = []
    for layer in layers:
        content = layer.path.read_bytes()
        blobs[_digest(content)] = content
        described.append(_describe(LAYER_TYPE + layer.compression, content))
    manifest = _encode(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": _describe(CONFIG_TYPE, config),
            "layers": described,
            "annotations": settings.labels,
        }
    )
    blobs[_digest(manifest)] = manifest
    entry = _describe(MANIFEST_TYPE, manifest) | {
        "platform": {"architecture": architecture, "os": "linux"},
        "annotations": {
            "io.containerd.image.name": reference,
            "org.opencontainers.image.ref.name": reference.rpartition(":")[2],
        },
    }
    index = _encode({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [entry]})
    files = {f"blobs/sha256/{digest.removeprefix('sha256:')}": blob for digest, blob in blobs.items()}
    files |= {"index.json": index, "oci-layout": _encode({"imageLayoutVersion": "1.0.0"})}
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.new")
    with tarfile.open(unfinished, "w", format=tarfile.PAX_FORMAT) as tar:
        for path, content in sorted(files.items()):
            file = tarfile.TarInfo(path)
            file.size, file.mtime = len(content), epoch
            tar.addfile(file, io.BytesIO(content))
    unfinished.rename(target)
    return _digest(manifest)


def _build_config(architecture: str, created: str, settings: Settings, layers: list[Layer]) -> dict[str, Any]:
    return {
        "architecture": architecture,
        "os": "linux",
        "created": created,
        "config": {
            "User": settings.user,
            "Entrypoint": settings.entrypoint,
            "Cmd": settings.command,
            "Env": [f"{name}={value}" for name, value in settings.variables.items()],
            "Labels": settings.labels,
            "WorkingDir": settings.directory,
        },
        "rootfs": {"type": "layers", "diff_ids": [layer.content_digest for layer in layers]},
        "history": [{"created": created, "created_by": layer.created_by} for layer in layers],
    }


def _describe(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": _digest(content), "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _encode(tree: object) -> bytes:
    return json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()
