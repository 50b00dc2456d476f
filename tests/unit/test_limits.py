"""Limits in docs/limits.md that have no other test."""

import asyncio
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.containers import build_index, build_layer, build_layout, digest, write_archive, write_tree
from tests.support.objects import object_from_tree
from tests.support.webserver import Request, Response, serve

from virtshape.api.diagnosis import MAX_PROBLEMS
from virtshape.api.problems import DecodeError
from virtshape.api.status import StatusError
from virtshape.apiserver.patches.jsonpatch import MAX_COPIED_BYTES, patch_json
from virtshape.apiserver.uploads import receiving
from virtshape.apiserver.uploads.route import find_upload
from virtshape.client.transport import Call, Reply
from virtshape.controllers.storage.protocol import StorageError
from virtshape.launcher.controlprotocol import Status
from virtshape.launcher.images import bundle, inspection, layers, qcow2, web
from virtshape.launcher.images.containerdisk import ContainerImages
from virtshape.launcher.images.errors import ImageError, RefusedImageError, TransferError
from virtshape.launcher.node import controlclient
from virtshape.launcher.volumes import files
from virtshape.launcher.volumes.task import UnusableVolumeError
from virtshape.standalone.guests import files as guest_files
from virtshape.standalone.storage import layout

NAME = "registry.example/team/disk:1"


def test_layer_with_too_many_entries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MAX_ENTRIES", 3)
    layer = build_layer({f"etc/{number}": b"x" for number in range(6)})
    source = write_tree(tmp_path / "layout", build_layout({"": [layer]}))
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False)
    with pytest.raises(RefusedImageError, match="more than 3 entries"):
        images.fetch_disk(NAME)


def test_image_archive_with_too_many_entries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MAX_ENTRIES", 3)
    layout = build_layout({"": [build_layer({"disk/one.img": b"x" * 512})]})
    source = write_archive(tmp_path / "image.tar", layout | {f"other/{number}": b"" for number in range(3)})
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False)
    with pytest.raises(RefusedImageError, match="more than 3 entries"):
        images.fetch_disk(NAME)


def test_layer_that_unpacks_to_too_many_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MAX_OTHER_BYTES", 1024)
    layer = build_layer({"usr/other": b"x" * 1024 * 1024, "disk/one.img": b"x" * 512})
    source = write_tree(tmp_path / "layout", build_layout({"": [layer]}))
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False, limit=4096)
    with pytest.raises(RefusedImageError, match="bytes"):
        images.fetch_disk(NAME)


async def test_stalled_upload_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "STALL_SECONDS", 0.05)

    async def read_nothing() -> bytes:
        await asyncio.sleep(60)
        return b""

    async def upload() -> None:
        route = find_upload("/v1beta1/upload")
        assert route is not None
        async for _ in receiving.list_pieces(read_nothing, route, "application/octet-stream"):
            pytest.fail("a piece arrived")

    with pytest.raises(StatusError, match=r"no data received for 0\.05 seconds") as refused:
        await upload()
    assert refused.value.code == 408


IMAGE_LIMITS = {
    "files": ("MAX_FILES", {f"disk/{number}": b"x" for number in range(4)}, "more than 3 matching files"),
    "hidden names": (
        "MAX_HIDDEN_BYTES",
        {"etc/.wh.passwd": b"", "disk/one.img": b"x" * 512},
        "exceed the limit of 3 bytes",
    ),
}


@pytest.mark.parametrize(("constant", "content", "message"), IMAGE_LIMITS.values(), ids=IMAGE_LIMITS)
def test_image_with_too_many_files_or_whiteouts_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constant: str, content: dict[str, bytes], message: str
) -> None:
    monkeypatch.setattr(layers, constant, 3)
    source = write_tree(tmp_path / "layout", build_layout({"": [build_layer(content)]}))
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False)
    with pytest.raises(RefusedImageError, match=message):
        images.fetch_disk(NAME)


def test_memory_for_whiteouts_of_image_layers_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MAX_HIDDEN_BYTES", 50_000)
    content = {f".wh.{number}": b"" for number in range(1000)}
    source = write_tree(tmp_path / "layout", build_layout({"": [build_layer(content)]}))
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False)
    with pytest.raises(RefusedImageError, match="exceed the limit of 50000 bytes"):
        images.fetch_disk(NAME)


def test_volume_with_oversized_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 8)
    (tmp_path / "key").write_bytes(b"x" * 9)
    with pytest.raises(UnusableVolumeError, match="larger than 8 bytes"):
        files.read_files(tmp_path)


def test_number_of_reported_decode_problems_is_limited() -> None:
    unknown = {f"field{number}": 1 for number in range(MAX_PROBLEMS + 50)}
    tree = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a"}, "spec": unknown}
    with pytest.raises(DecodeError) as refused:
        object_from_tree(tree)
    assert len(refused.value.causes) == MAX_PROBLEMS


def test_bytes_copied_by_json_patch_operations_are_limited() -> None:
    large = {"a": "x" * (MAX_COPIED_BYTES // 2)}
    copies = [{"op": "copy", "from": "/a", "path": f"/b{number}"} for number in range(2)]
    assert patch_json(large, copies[:1]).keys() == {"a", "b0"}
    with pytest.raises(StatusError) as refused:
        patch_json(large, copies)
    assert refused.value.code == 422


def test_depth_of_image_indexes_is_limited(tmp_path: Path) -> None:
    files = build_layout({"": [build_layer({"disk/one.img": b"x" * 512})]})
    for _ in range(4):
        inner = files["index.json"]
        files[f"blobs/{digest(inner).replace(':', '/')}"] = inner
        files["index.json"] = build_index({"": inner})
    source = write_tree(tmp_path / "layout", files)
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False)
    with pytest.raises(RefusedImageError, match="are nested too deeply"):
        images.fetch_disk(NAME)


def test_depth_of_registry_indexes_is_limited(tmp_path: Path) -> None:
    manifest = build_index({"amd64": b"{}"})
    known = {}
    for _ in range(5):
        known[digest(manifest)] = manifest
        manifest = build_index({"amd64": manifest})
    known["v1"] = manifest

    def respond(request: Request) -> Response:
        return Response(known[request.path.rpartition("/")[2]])

    images = ContainerImages(tmp_path, networks=("127.0.0.0/8",))
    with serve(respond) as server, pytest.raises(RefusedImageError, match="are nested too deeply"):
        images.fetch_disk(f"{server.address}/team/disk:v1")
    assert len(server.requests) == 4


def test_import_request_to_a_silent_server_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "SILENCE_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with pytest.raises(TransferError, match="timed out"):
            web.request(url, web.Access(networks=("127.0.0.0/8",)))


def make_image(path: Path) -> Path:
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(path), "64M"], check=True)  # noqa: S607 - as users do
    return path


def make_qemu_img_hang(directory: Path, monkeypatch: pytest.MonkeyPatch, subcommand: str) -> None:
    """Prepend a qemu-img to PATH that hangs when it is run with the given subcommand."""
    program = directory / "bin" / "qemu-img"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$1" = {subcommand} ] && exec sleep 600\nexec {shutil.which("qemu-img")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


@pytest.mark.parametrize(("constant", "subcommand"), [("_SECONDS", "info"), ("_CHECK_SECONDS", "check")])
def test_inspection_of_an_image_has_a_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constant: str, subcommand: str
) -> None:
    image = make_image(tmp_path / "image")
    make_qemu_img_hang(tmp_path, monkeypatch, subcommand)
    monkeypatch.setattr(inspection, constant, 0.2)
    with pytest.raises(ImageError, match=r"did not end within 0\.2 seconds"):
        inspection.inspect_image(image)


def test_conversion_of_an_image_has_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = make_image(tmp_path / "image")
    make_qemu_img_hang(tmp_path, monkeypatch, "convert")
    monkeypatch.setattr(qcow2, "_CONVERT_SECONDS", 0.2)
    with pytest.raises(ImageError, match=r"did not end within 0\.2 seconds"):
        qcow2.convert(image, "qcow2", tmp_path / "raw", "raw")


def test_length_of_volume_names_is_limited() -> None:
    assert layout.validate_name("n" * 200) == "n" * 200
    with pytest.raises(StorageError, match="is not a valid name"):
        layout.validate_name("n" * 201)


async def test_length_of_a_launcher_response_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controlclient, "MAX_LINE_BYTES", 1000)

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"x" * 3000 + b"\n")
        writer.close()

    async with await asyncio.start_unix_server(respond, tmp_path / "socket"):
        with pytest.raises(ValueError, match="limit"):
            await controlclient.send_request(tmp_path / "socket", Status())


async def test_token_of_a_guest_expires_after_a_year() -> None:
    asked: list[Call] = []

    class ApiServer:
        async def call(self, call: Call) -> Reply:
            asked.append(call)
            return Reply(201, {}, call.body or b"")

    transport: Any = ApiServer()
    await guest_files.make_token_issuer(transport, "")("default", "account")
    assert b'"expirationSeconds":31536000' in (asked[0].body or b"")
