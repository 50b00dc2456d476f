"""Pruning of the image cache by size: the least recently used images are removed, except images in use."""

import os
import time
from pathlib import Path

import pytest
from tests.support.containers import build_layer, build_layout, write_tree

from virtshape.launcher.images import cache
from virtshape.launcher.images.cache import Cache, ContainerDisk, NameRecord
from virtshape.launcher.images.containerdisk import ContainerImages
from virtshape.launcher.images.progress import ignore

MIB = 1 << 20
NAMES = ("one", "two", "three")


class CachedImages:
    """Three cached images of 1 MiB each, last used two hours ago, one hour ago and just now."""

    def __init__(self, directory: Path) -> None:
        sources = {}
        for number, name in enumerate(NAMES):
            layer = build_layer({"disk/disk.img": bytes([1 + number]) * MIB})
            sources[name] = str(write_tree(directory / name, build_layout({"": [layer]})))
        self.directory = directory / "cache"
        self.images = ContainerImages(self.directory, files=sources, from_registries=False)
        self.disks = {name: self.images.fetch_disk(name) for name in NAMES}
        for age, name in enumerate(reversed(NAMES)):
            self.set_age(name, age * 3600.0)

    def set_age(self, name: str, age: float) -> None:
        """Set how long ago an image was used."""
        last = time.time() - age
        os.utime(self.home(name), (last, last))

    def home(self, name: str) -> Path:
        """Return the directory of an image."""
        return Path(self.disks[name].path).parent

    def prune(self, limit: int, *in_use: ContainerDisk) -> list[str]:
        """Prune the cache and return the names of the remaining images."""
        self.images.prune(limit, lambda: [disk.path for disk in in_use])
        return [name for name, disk in self.disks.items() if Path(disk.path).exists()]


@pytest.fixture
def cached(tmp_path: Path) -> CachedImages:
    return CachedImages(tmp_path)


@pytest.mark.parametrize(
    ("limit", "left"),
    [(4 * MIB, ["one", "two", "three"]), (3 * MIB, ["two", "three"]), (2 * MIB, ["three"]), (0, ["three"])],
)
def test_least_recently_used_images_are_removed_first(cached: CachedImages, limit: int, left: list[str]) -> None:
    assert cached.prune(limit) == left
    assert {path.name for path in (cached.directory / "disks").iterdir()} == {cached.home(name).name for name in left}
    assert {path.name for path in (cached.directory / "locks").iterdir()} == {cached.home(name).name for name in left}


def test_image_in_use_is_not_pruned(cached: CachedImages) -> None:
    assert cached.prune(0, cached.disks["one"]) == ["one", "three"]


def test_image_removed_from_the_cache_is_fetched_again(cached: CachedImages) -> None:
    cached.prune(0)
    assert cached.images.find_disk("one") is None
    assert cached.images.fetch_disk("one") == cached.disks["one"]
    assert cached.prune(0) == ["one", "three"]


def test_lookup_of_an_image_counts_as_use(cached: CachedImages) -> None:
    assert cached.images.find_disk("one") == cached.disks["one"]
    assert cached.prune(0) == ["one", "three"]


def test_image_used_during_pruning_is_not_removed(cached: CachedImages) -> None:
    def list_paths_in_use() -> list[str]:
        cached.images.find_disk("one")
        return []

    cached.images.prune(0, list_paths_in_use)
    assert Path(cached.disks["one"].path).read_bytes() == b"\x01" * MIB


def test_image_that_is_being_fetched_is_not_pruned(cached: CachedImages) -> None:
    other = Cache(cached.directory)
    with other.lock(cached.disks["one"].digest, ignore) as scratch:
        assert cached.prune(0) == ["one", "three"]
        assert scratch.exists()


def test_image_lock_is_exclusive_after_its_file_was_removed(cached: CachedImages) -> None:
    first, second = Cache(cached.directory), Cache(cached.directory)
    name = cached.home("one").name
    with first.lock(cached.disks["one"].digest, ignore):
        (cached.directory / "locks" / name).unlink()
        with second.lock(cached.disks["one"].digest, ignore):
            waits = 0

            def count(_: int, __: int | None) -> None:
                nonlocal waits
                waits += 1
                if waits == 2:
                    raise InterruptedError

            with (
                pytest.raises(InterruptedError),
                Cache(cached.directory).lock(cached.disks["one"].digest, count),
            ):
                pytest.fail("two fetches have the lock")


def test_files_of_killed_fetches_are_removed(cached: CachedImages) -> None:
    scratch = cached.directory / ".work-sha256-abc-x_1"
    write_tree(scratch, {"tree/file": b"x"})
    lock = cached.directory / "locks" / "sha256-abc"
    lock.touch()
    assert cached.prune(4 * MIB) == list(NAMES)
    assert not scratch.exists()
    assert not lock.exists()


def test_number_of_image_names_in_the_cache_is_limited(cached: CachedImages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_NAMES", 2)
    kept = Cache(cached.directory)
    for age, name in enumerate(("new", "newer", "newest")):
        before = set((cached.directory / "names").iterdir())
        kept.set_name(NameRecord(name, "sha256:abc"))
        (added,) = set((cached.directory / "names").iterdir()) - before
        last = time.time() + age
        os.utime(added, (last, last))
    kept.prune(4 * MIB, list)
    assert [kept.find_name(name) is not None for name in ("new", "newer", "newest")] == [False, True, True]
