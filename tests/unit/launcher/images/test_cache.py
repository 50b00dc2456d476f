"""Pruning of the image cache by size: the least recently used images are removed, but none in use."""

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


class Fetched:
    """Three images of 1 MiB each; the first two were last used hours ago, the first one before the second."""

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
def fetched(tmp_path: Path) -> Fetched:
    return Fetched(tmp_path)


@pytest.mark.parametrize(
    ("limit", "left"),
    [(4 * MIB, ["one", "two", "three"]), (3 * MIB, ["two", "three"]), (2 * MIB, ["three"]), (0, ["three"])],
)
def test_least_recently_used_images_are_removed_first(fetched: Fetched, limit: int, left: list[str]) -> None:
    assert fetched.prune(limit) == left
    assert {path.name for path in (fetched.directory / "disks").iterdir()} == {fetched.home(name).name for name in left}
    assert {path.name for path in (fetched.directory / "locks").iterdir()} == {fetched.home(name).name for name in left}


def test_image_in_use_is_not_pruned(fetched: Fetched) -> None:
    assert fetched.prune(0, fetched.disks["one"]) == ["one", "three"]


def test_removed_image_is_fetched_again(fetched: Fetched) -> None:
    fetched.prune(0)
    assert fetched.images.find_disk("one") is None
    assert fetched.images.fetch_disk("one") == fetched.disks["one"]
    assert fetched.prune(0) == ["one", "three"]


def test_finding_an_image_counts_as_use(fetched: Fetched) -> None:
    assert fetched.images.find_disk("one") == fetched.disks["one"]
    assert fetched.prune(0) == ["one", "three"]


def test_image_used_during_pruning_is_kept(fetched: Fetched) -> None:
    def list_paths_in_use() -> list[str]:
        fetched.images.find_disk("one")
        return []

    fetched.images.prune(0, list_paths_in_use)
    assert Path(fetched.disks["one"].path).read_bytes() == b"\x01" * MIB


def test_image_that_is_being_fetched_is_not_pruned(fetched: Fetched) -> None:
    other = Cache(fetched.directory)
    with other.lock(fetched.disks["one"].digest, ignore) as scratch:
        assert fetched.prune(0) == ["one", "three"]
        assert scratch.exists()


def test_lock_is_exclusive_after_its_file_was_removed(fetched: Fetched) -> None:
    first, second = Cache(fetched.directory), Cache(fetched.directory)
    name = fetched.home("one").name
    with first.lock(fetched.disks["one"].digest, ignore):
        (fetched.directory / "locks" / name).unlink()
        with second.lock(fetched.disks["one"].digest, ignore):
            waits = 0

            def count(_: int, __: int | None) -> None:
                nonlocal waits
                waits += 1
                if waits == 2:
                    raise InterruptedError

            with (
                pytest.raises(InterruptedError),
                Cache(fetched.directory).lock(fetched.disks["one"].digest, count),
            ):
                pytest.fail("two fetches have the lock")


def test_files_of_killed_fetches_are_removed(fetched: Fetched) -> None:
    scratch = fetched.directory / ".work-sha256-abc-x_1"
    write_tree(scratch, {"tree/file": b"x"})
    lock = fetched.directory / "locks" / "sha256-abc"
    lock.touch()
    assert fetched.prune(4 * MIB) == list(NAMES)
    assert not scratch.exists()
    assert not lock.exists()


def test_number_of_kept_names_is_limited(fetched: Fetched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_NAMES", 2)
    kept = Cache(fetched.directory)
    for age, name in enumerate(("new", "newer", "newest")):
        before = set((fetched.directory / "names").iterdir())
        kept.set_name(NameRecord(name, "sha256:abc"))
        (added,) = set((fetched.directory / "names").iterdir()) - before
        last = time.time() + age
        os.utime(added, (last, last))
    kept.prune(4 * MIB, list)
    assert [kept.find_name(name) is not None for name in ("new", "newer", "newest")] == [False, True, True]
