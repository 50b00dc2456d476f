"""Container images of guests: pruning of unused images, and back-off after failed pulls."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.containers import build_layer, build_layout, write_tree

from virtshape.controllers.storage.datavolumestatus import retry_delay
from virtshape.controllers.storage.files import NotReadyError
from virtshape.controllers.storage.mounts import PULLING, ContainerDisk
from virtshape.standalone.storage.containers import ABANDONED_SECONDS, MAX_PULL_SECRET_BYTES, FetchedDisks
from virtshape.supervise.supervisor import Supervisor

MIB = 1 << 20
NAMES = ("one", "two", "three")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def disks(tmp_path: Path, clock: Clock) -> AsyncIterator[FetchedDisks]:
    fetched = FetchedDisks(tmp_path, Supervisor(), clock)
    yield fetched
    await fetched.close()


async def find(disks: FetchedDisks, wanted: ContainerDisk) -> Path:
    """Wait until the image is pulled, and return its path."""
    while True:
        try:
            return Path(await disks.get(wanted))
        except NotReadyError as error:
            if error.reason != PULLING:
                raise
        await asyncio.sleep(0.01)


def configure(directory: Path, **storage: str) -> None:
    images = {}
    for number, name in enumerate(NAMES):
        layer = build_layer({"disk/disk.img": bytes([1 + number]) * MIB})
        images[name] = str(write_tree(directory / f"source-{name}", build_layout({"": [layer]})))
    (directory / "config.yaml").write_text(json.dumps({"images": images, "storage": storage}))


async def test_images_that_no_guest_uses_are_removed_above_the_configured_size(
    disks: FetchedDisks, tmp_path: Path
) -> None:
    configure(tmp_path, imageCacheSize="2Mi")
    first, second = [await find(disks, ContainerDisk(image=name)) for name in NAMES[:2]]
    for path in (first, second):
        os.utime(path.parent, (0, 0))
    guest = tmp_path / "guests" / "guest-1"
    guest.mkdir(parents=True)
    (guest / "guest.json").write_text(json.dumps({"vmi": {}, "mounts": {"root": str(first)}}))
    third = await find(disks, ContainerDisk(image="three"))
    assert [path.exists() for path in (first, second, third)] == [True, False, True]


async def test_no_image_is_removed_while_a_launch_request_cannot_be_read(
    disks: FetchedDisks, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    configure(tmp_path, imageCacheSize="1Ki")
    first = await find(disks, ContainerDisk(image="one"))
    os.utime(first.parent, (0, 0))
    guest = tmp_path / "guests" / "guest-1"
    guest.mkdir(parents=True)
    (guest / "guest.json").write_text("{")
    second = await find(disks, ContainerDisk(image="two"))
    assert first.exists()
    assert second.exists()
    assert "removing unused container images failed" in caplog.text


async def test_backoff_of_a_failed_pull_is_reset_if_no_instance_requests_the_image(
    disks: FetchedDisks, clock: Clock
) -> None:
    async def fail(image: str) -> str:
        with pytest.raises(NotReadyError) as failed:
            await find(disks, ContainerDisk(image=image))
        return failed.value.reason

    for _ in range(3):
        assert await fail("Not a name") == "ErrImagePull"
        clock.now += retry_delay(3)
    clock.now += ABANDONED_SECONDS
    await fail("Not another name")
    assert await fail("Not a name") == "ErrImagePull"
    clock.now += retry_delay(1)
    assert await fail("Not a name") == "ErrImagePull"  # the delay would be longer if earlier failures counted


async def test_too_large_pull_secret_is_refused(disks: FetchedDisks) -> None:
    wanted = ContainerDisk(image="one", logins=" " * (MAX_PULL_SECRET_BYTES + 1))
    with pytest.raises(NotReadyError, match="the pull secret is 65537 bytes: at most 65536 are used"):
        await disks.get(wanted)
