"""Images pulled from a container registry, converted with qemu-img, and cloned."""

import http.client
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.support.containers import MANIFEST, build_index, build_layer, build_manifest, digest, pack
from tests.support.debian import ensure_program
from tests.support.demo import TIMEOUT, find_free_port

from virtshape.launcher.images.clone import copy_file
from virtshape.launcher.images.containerdisk import ContainerImages
from virtshape.launcher.images.errors import ImageError, RefusedImageError, TransferError
from virtshape.launcher.images.inspection import inspect_image
from virtshape.launcher.images.qcow2 import convert, make_blank, make_overlay

MIB = 1 << 20
GIB = 1 << 30
CONFIG = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: {directory}}}}}
http: {{addr: "127.0.0.1:{port}"}}
log: {{level: error, accesslog: {{disabled: true}}}}
"""


class Registry:
    """A registry that images can be pushed to."""

    def __init__(self, address: str) -> None:
        self.address = address

    def push(self, tag: str, manifest: bytes, blobs: dict[str, bytes]) -> None:
        for name, blob in blobs.items():
            place = self._send("POST", "/v2/team/disk/blobs/uploads/", b"").headers["Location"]
            parts = urlsplit(place)
            self._send("PUT", f"{parts.path}?{parts.query}&digest={name}", blob)
        kind = MANIFEST if b'"layers"' in manifest else "application/vnd.oci.image.index.v1+json"
        self._send("PUT", f"/v2/team/disk/manifests/{tag}", manifest, kind)

    def _send(
        self, method: str, path: str, body: bytes, kind: str = "application/octet-stream"
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.address, timeout=TIMEOUT)
        connection.request(method, path, body, {"Content-Type": kind})
        response = connection.getresponse()
        assert response.status < 300, (method, path, response.status, response.read())
        connection.close()
        return response


@pytest.fixture(scope="module")
def registry(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    try:
        program = ensure_program(pytestconfig, "docker-registry", "docker-registry")
    except ImageError as error:
        pytest.skip(str(error))
        raise
    directory, port = tmp_path_factory.mktemp("registry"), find_free_port()
    (directory / "config.yml").write_text(CONFIG.format(directory=directory / "data", port=port))
    command = [str(program), "serve", str(directory / "config.yml")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        running = Registry(f"127.0.0.1:{port}")
        deadline = time.monotonic() + TIMEOUT
        while not _answers(running):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield running
        process.terminate()


def _answers(registry: Registry) -> bool:
    try:
        registry._send("GET", "/v2/", b"")  # noqa: SLF001 - of this very file
    except OSError:
        return False
    return True


@pytest.fixture(autouse=True)
def _needs_qemu_img() -> None:
    if shutil.which("qemu-img") is None:
        pytest.skip("qemu-img is not installed: see the package qemu-utils")


def test_disk_is_pulled_from_a_registry_by_tag_digest_and_architecture(tmp_path: Path, registry: Registry) -> None:
    make_blank(tmp_path / "disk.qcow2", GIB)
    layer = pack(build_layer({"disk/disk.qcow2": (tmp_path / "disk.qcow2").read_bytes()}))
    manifest, blobs = build_manifest([layer])
    registry.push("v1", manifest, blobs)
    registry.push("many", build_index({"arm64": manifest}), {})
    images = ContainerImages(tmp_path / "cache", networks=("127.0.0.0/8",))
    name = f"{registry.address}/team/disk"
    disk = images.fetch_disk(f"{name}:v1")
    assert (disk.format, disk.size, disk.digest) == ("qcow2", GIB, digest(manifest))
    assert images.fetch_disk(f"{name}@{disk.digest}") == disk
    assert images.fetch_disk(f"{name}:many", architecture="arm64") == disk
    with pytest.raises(RefusedImageError, match="does not support amd64; it supports: arm64"):
        images.fetch_disk(f"{name}:many")
    with pytest.raises(TransferError, match=r"container image .* not found"):
        images.fetch_disk(f"{name}:none")


def test_moved_tag_pulls_the_new_image_and_does_not_remove_the_old_one(tmp_path: Path, registry: Registry) -> None:
    images = ContainerImages(tmp_path / "cache", networks=("127.0.0.0/8",))
    name = f"{registry.address}/team/disk:latest"
    paths = []
    for content in (b"old", b"new"):
        registry.push("latest", *build_manifest([build_layer({"disk/disk.img": content * 512})]))
        paths.append(images.fetch_disk(name).path)
    assert [Path(path).read_bytes()[:3] for path in paths] == [b"old", b"new"]


def test_image_is_converted_between_raw_and_qcow2_and_an_overlay_is_refused(tmp_path: Path) -> None:
    raw = tmp_path / "disk.img"
    raw.write_bytes(b"begin".ljust(MIB, b"\0") + b"end".ljust(MIB, b"\0"))
    convert(raw, "raw", tmp_path / "disk.qcow2", "qcow2")
    assert inspect_image(tmp_path / "disk.qcow2") == ("qcow2", 2 * MIB)
    convert(tmp_path / "disk.qcow2", "qcow2", tmp_path / "back.img", "raw")
    assert (tmp_path / "back.img").read_bytes() == raw.read_bytes()
    make_overlay(tmp_path / "over.qcow2", raw, "raw", 2 * MIB)
    with pytest.raises(RefusedImageError, match="is backed by another file"):
        inspect_image(tmp_path / "over.qcow2")


def test_one_gibibyte_image_is_cloned_in_less_than_a_second(tmp_path: Path) -> None:
    """Clone a typical image, which has about 100 MB of data at its start and free space after it."""
    image = tmp_path / "disk.img"
    with image.open("wb") as file:
        for _ in range(100):
            file.write(bytes(range(256)) * 4096)
        file.truncate(GIB)
    seconds = []
    for _ in range(3):  # use the best CPU time of several runs, because the machine may be busy
        start = time.process_time()
        copy_file(image, tmp_path / "clone.img")
        seconds.append(time.process_time() - start)
    assert min(seconds) < 1
    assert (tmp_path / "clone.img").stat().st_size == GIB
    assert (tmp_path / "clone.img").stat().st_blocks * 512 < 128 * MIB
