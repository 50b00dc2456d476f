"""Container images for tests: layers, manifests, OCI layouts and docker archives."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.webserver import Request, Respond, Response

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


def build_layer(files: dict[str, bytes], *members: tarfile.TarInfo) -> bytes:
    """Build a layer with these files and additional archive members."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for member in members:
            archive.addfile(member)
    return layer.getvalue()


def build_link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """Build a link in a layer."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def build_manifest(layers: Sequence[bytes], config: bytes | None = None) -> tuple[bytes, dict[str, bytes]]:
    """Return a manifest and its blobs by digest; `config` replaces the image's configuration."""
    if config is None:
        config = json.dumps({"rootfs": {"diff_ids": [digest(layer) for layer in layers]}}).encode()
    tree: dict[str, Any] = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": "application/json", "digest": digest(config), "size": len(config)},
        "layers": [{"mediaType": "tar", "digest": digest(layer), "size": len(layer)} for layer in layers],
    }
    return json.dumps(tree).encode(), {digest(blob): blob for blob in [config, *layers]}


def build_config(*environment: str, **labels: str) -> bytes:
    """Build the configuration of an image with these environment variables and labels."""
    return json.dumps({"config": {"Env": environment, "Labels": labels}}).encode()


def serve_image(layers: Sequence[bytes], config: bytes | None = None) -> Respond:
    """Return a handler that responds as a registry with this image under all names and tags."""
    manifest, blobs = build_manifest(layers, config)

    def respond(request: Request) -> Response:
        _, kind, version = request.path.rsplit("/", 2)
        content = manifest if kind == "manifests" else blobs.get(version)
        return Response(status=404) if content is None else Response(content, ETag=f'"{version}"')

    return respond


def build_index(images: dict[str, bytes]) -> bytes:
    """Build an index of manifests by architecture; the empty architecture gets no platform."""
    entries = []
    for architecture, manifest in images.items():
        entry: dict[str, Any] = {"mediaType": MANIFEST, "digest": digest(manifest), "size": len(manifest)}
        if architecture:
            entry["platform"] = {"os": "linux", "architecture": architecture}
        entries.append(entry)
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).encode()


def build_layout(images: Mapping[str, Sequence[bytes]]) -> dict[str, bytes]:
    """Return the files of an OCI layout with one image per architecture."""
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
    manifests = {}
    for architecture, layers in images.items():
        manifest, blobs = build_manifest(layers)
        manifests[architecture] = manifest
        blobs[digest(manifest)] = manifest
        files |= {f"blobs/{name.replace(':', '/')}": blob for name, blob in blobs.items()}
    return {**files, "index.json": build_index(manifests)}


def build_docker_save(layers: Sequence[bytes]) -> dict[str, bytes]:
    """Return the files of a `docker save` archive."""
    config = json.dumps({"rootfs": {"diff_ids": [digest(layer) for layer in layers]}}).encode()
    names = [f"{number}/layer.tar" for number in range(len(layers))]
    manifest = [{"Config": "config.json", "RepoTags": ["disk:1"], "Layers": names}]
    described = {"config.json": config, "manifest.json": json.dumps(manifest).encode()}
    return {**described, **dict(zip(names, layers, strict=True))}


def write_tree(directory: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    return directory


def write_archive(path: Path, files: dict[str, bytes]) -> Path:
    path.write_bytes(build_layer(files))
    return path


def pack(layer: bytes) -> bytes:
    """Compress a layer as registries usually store it."""
    return gzip.compress(layer, 1, mtime=0)
