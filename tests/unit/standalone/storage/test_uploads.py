"""Uploads into the data directory: complete uploads are inspected, and incomplete ones are removed."""

import asyncio
import gzip
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from virtshape.apiserver.uploads.sink import IncomingUpload, UploadSinkError
from virtshape.standalone.storage.diskspace import MARGIN
from virtshape.standalone.storage.layout import Layout
from virtshape.standalone.storage.uploads import UploadDirectory

MIB = 1 << 20
RAW = b"disk" * 1000


class UploadFixture:
    """An upload directory, with methods that send uploads and read their files."""

    def __init__(self, directory: Path) -> None:
        self.inbox = UploadDirectory(Layout(directory))
        self.directory = directory / "uploads"

    async def send(self, *pieces: bytes, is_wanted: Callable[[], bool] = lambda: True, **more: Any) -> None:
        delivery = IncomingUpload(**{"key": "k1", "size": MIB, **more})
        async with self.inbox.receive(delivery, is_wanted) as upload:
            for piece in pieces:
                await upload.write(piece)

    def list(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir()) if self.directory.exists() else []


@pytest.fixture
def box(tmp_path: Path) -> UploadFixture:
    return UploadFixture(tmp_path)


async def test_uploaded_file_has_all_data_and_is_readable_only_by_its_owner(box: UploadFixture) -> None:
    await box.send(RAW[:10], b"", RAW[10:])
    (path,) = box.directory.iterdir()
    assert (path.name, path.read_bytes(), path.stat().st_mode & 0o777) == ("k1", RAW, 0o600)


UNUSABLE: dict[str, tuple[bytes, dict[str, Any], str]] = {
    "empty": (b"", {}, "the upload is empty"),
    "too large": (bytes(MIB + MARGIN + 1), {}, "that fit into the claim"),
    "larger virtual size": (
        bytes(2 * MIB),
        {},
        "the image contains a disk of 2097152 bytes; at most 1048576 are allowed",
    ),
    "content length too large": (b"", {"length": 2 * MIB + MARGIN}, "request a larger claim"),
    "content length larger than the free space": (b"", {"length": 1 << 50, "size": 1 << 51}, "the disk is full"),
    "content length above the limit without a size": (
        b"",
        {"length": 1 << 50, "size": None},
        "exceed the limit of 107374182400",
    ),
    "archive without a size": (b"", {"content": "archive", "size": None}, "an archive needs a claim with a size"),
    "key with a path traversal": (RAW, {"key": "../escaped"}, "is not a valid name of a volume"),
    "truncated qcow2": (b"QFI\xfb" + bytes(100), {}, "its qcow2 header is damaged"),
    "ELF binary": (b"\x7fELF", {"size": 100}, "at most 100 are allowed"),
}


@pytest.mark.parametrize(("data", "more", "message"), UNUSABLE.values(), ids=UNUSABLE)
async def test_unusable_upload_is_refused_and_removed(
    box: UploadFixture, data: bytes, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(UploadSinkError, match=message):
        await box.send(data, **more)
    assert box.list() == []


@pytest.mark.parametrize("content", ["kubevirt", "archive"])
async def test_compressed_upload_is_accepted_without_inspection(box: UploadFixture, content: str) -> None:
    await box.send(gzip.compress(bytes(3 * MIB)), content=content)
    assert box.list() == ["k1"]


async def test_upload_to_a_claim_without_size_is_accepted(box: UploadFixture) -> None:
    await box.send(bytes(3 * MIB), size=None)
    assert box.list() == ["k1"]


async def test_upload_that_would_use_the_reserved_disk_space_is_refused(tmp_path: Path) -> None:
    box = UploadFixture(tmp_path)
    (tmp_path / "config.yaml").write_text(f"storage: {{reserve: {shutil.disk_usage(tmp_path).free + (1 << 40)}}}")
    with pytest.raises(UploadSinkError, match=r"the disk is full: .* are reserved for the database") as refused:
        await box.send(RAW)
    assert refused.value.is_temporary
    assert box.list() == []


async def test_second_upload_to_a_claim_is_refused(box: UploadFixture) -> None:
    async with box.inbox.receive(IncomingUpload(key="k1"), lambda: True) as upload:
        await upload.write(RAW)
        with pytest.raises(UploadSinkError, match="another upload to the same claim") as refused:
            await box.send(RAW)
        assert refused.value.is_temporary
        assert box.list() == [".k1.upload"]
    with pytest.raises(UploadSinkError, match="another upload to the same claim"):
        await box.send(RAW)
    assert box.list() == ["k1"]


async def test_upload_to_a_claim_that_no_longer_waits_for_one_is_removed(box: UploadFixture) -> None:
    with pytest.raises(UploadSinkError, match="no longer waits"):
        await box.send(RAW, is_wanted=lambda: False)
    assert box.list() == []


async def test_interrupted_upload_is_removed_and_can_be_repeated(box: UploadFixture) -> None:
    async def send() -> None:
        async with box.inbox.receive(IncomingUpload(key="k1"), lambda: True) as upload:
            await upload.write(RAW)
            await asyncio.Event().wait()

    sending = asyncio.create_task(send())
    while not box.list():
        await asyncio.sleep(0.01)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert box.list() == []
    await box.send(RAW)
    assert box.list() == ["k1"]
