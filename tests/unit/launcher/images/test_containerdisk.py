"""Disks in container images: they are found in all image formats and layers, and no other file is extracted."""

import lzma
import tarfile
from pathlib import Path
from threading import Event

import pytest
from tests.support.containers import (
    build_docker_save,
    build_layer,
    build_layout,
    build_link,
    digest,
    pack,
    write_archive,
    write_tree,
)

from virtshape.launcher.images.containerdisk import ContainerImages
from virtshape.launcher.images.errors import RefusedImageError, StoppedError, TransferError
from virtshape.launcher.images.imageconfig import ImageConfig
from virtshape.launcher.images.layers import extract
from virtshape.launcher.images.manifest import Layer
from virtshape.launcher.images.progress import ignore, until

DISK = b"\xeb\x63".ljust(512, b"\0") + b"a disk" + bytes(1 << 20)
ROUNDED = -(-len(DISK) // 512) * 512
NAME = "registry.example/team/disk:1"


def open_images(tmp_path: Path, source: Path, limit: int | None = None) -> ContainerImages:
    return ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False, limit=limit)


def make_source(tmp_path: Path, form: str, *layers: bytes) -> Path:
    match form:
        case "layout":
            return write_tree(tmp_path / "layout", build_layout({"": layers}))
        case "archive":
            return write_archive(tmp_path / "oci.tar", build_layout({"": layers}))
        case _:
            return write_archive(tmp_path / "docker.tar", build_docker_save(layers))


@pytest.mark.parametrize("form", ["layout", "archive", "docker"])
@pytest.mark.parametrize("packed", [pytest.param(pack, id="gz"), pytest.param(bytes, id="plain"), lzma.compress])
def test_single_disk_of_an_image_is_found(tmp_path: Path, form: str, packed: type[bytes]) -> None:
    source = make_source(tmp_path, form, packed(build_layer({"disk/one.img": DISK, "etc/passwd": b"x"})))
    disk = open_images(tmp_path, source).fetch_disk(NAME)
    assert Path(disk.path).read_bytes() == DISK
    assert (disk.format, disk.size) == ("raw", ROUNDED)
    assert Path(disk.path).stat().st_mode & 0o777 == 0o444


@pytest.mark.parametrize("form", ["layout", "archive", "docker"])
def test_configuration_of_an_image_in_a_file_is_read(tmp_path: Path, form: str) -> None:
    source = make_source(tmp_path, form, build_layer({"disk/one.img": DISK}))
    assert open_images(tmp_path, source).fetch_config(NAME) == ImageConfig()


def test_local_disk_image_has_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "disk.img").write_bytes(DISK)
    assert open_images(tmp_path, tmp_path / "disk.img").fetch_config(NAME) == ImageConfig()


def test_container_disk_is_extracted_once_and_then_cached(tmp_path: Path) -> None:
    images = open_images(tmp_path, make_source(tmp_path, "layout", build_layer({"disk/one.img": DISK})))
    assert images.find_disk(NAME) is None
    first = images.fetch_disk(NAME)
    number = Path(first.path).stat().st_ino
    assert images.fetch_disk(NAME) == images.find_disk(NAME) == first
    assert Path(first.path).stat().st_ino == number
    assert [path.name for path in (tmp_path / "cache").iterdir() if path.name.startswith(".")] == []


def test_images_with_the_same_content_share_a_disk(tmp_path: Path) -> None:
    source = str(make_source(tmp_path, "layout", build_layer({"disk/one.img": DISK})))
    images = ContainerImages(tmp_path / "cache", files={"one": source, "two": source})
    assert images.fetch_disk("one") == images.fetch_disk("two:latest")


def test_image_of_the_guest_architecture_is_chosen(tmp_path: Path) -> None:
    layers = {name: [build_layer({"disk/one.img": DISK + name.encode()})] for name in ("amd64", "arm64")}
    images = open_images(tmp_path, write_tree(tmp_path / "layout", build_layout(layers)))
    for name in layers:
        assert Path(images.fetch_disk(NAME, architecture=name).path).read_bytes().endswith(name.encode())
    with pytest.raises(RefusedImageError, match="does not support s390x; it supports: amd64, arm64"):
        images.fetch_disk(NAME, architecture="s390x")


def test_plain_disk_image_is_accepted_as_a_container_image(tmp_path: Path) -> None:
    (tmp_path / "disk.img").write_bytes(DISK)
    disk = open_images(tmp_path, tmp_path / "disk.img").fetch_disk(NAME)
    assert (disk.path, disk.digest, disk.size) == (str(tmp_path / "disk.img"), "", ROUNDED)


UPPER_HIDES_LOWER = {
    "replaced": build_layer({"disk/one.img": DISK}),
    "removed": build_layer({"disk/.wh.old.img": b"", "disk/one.img": DISK}),
    "directory emptied": build_layer({"disk/.wh..wh..opq": b"", "disk/one.img": DISK}),
    "directory removed and recreated": build_layer({".wh.disk": b"", "disk/one.img": DISK}),
}


@pytest.mark.parametrize("upper", UPPER_HIDES_LOWER.values(), ids=UPPER_HIDES_LOWER)
def test_files_in_upper_layers_hide_those_in_lower_layers(tmp_path: Path, upper: bytes) -> None:
    name = "one.img" if upper == UPPER_HIDES_LOWER["replaced"] else "old.img"
    source = make_source(tmp_path, "layout", build_layer({f"disk/{name}": b"old" * 512}), upper)
    assert Path(open_images(tmp_path, source).fetch_disk(NAME).path).read_bytes() == DISK


def test_container_disk_path_selects_one_of_several_disks(tmp_path: Path) -> None:
    layer = build_layer({"disk/one.img": DISK, "./other/two.img": b"2" * 512})
    images = open_images(tmp_path, make_source(tmp_path, "layout", layer))
    assert Path(images.fetch_disk(NAME, "/other/two.img").path).read_bytes() == b"2" * 512
    assert Path(images.fetch_disk(NAME).path).read_bytes() == DISK


NO_DISK = {
    "none": (build_layer({"etc/passwd": b"x", "disk/deeper/one.img": DISK}), "has no disk in /disk"),
    "two": (build_layer({"disk/a": DISK, "disk/b": DISK}), "set the path of one: /disk/a, /disk/b"),
    "symbolic link": (build_layer({}, build_link("disk/one.img", "/etc/shadow")), "not a file but a link"),
    "hard link": (build_layer({}, build_link("disk/one.img", "etc/shadow", tarfile.LNKTYPE)), "not a file but a link"),
    "device": (build_layer({}, build_link("disk/one.img", "", tarfile.BLKTYPE)), "not a file but a link or a device"),
    "empty": (build_layer({"disk/one.img": b""}), "the image is empty"),
    "truncated": (pack(build_layer({"disk/one.img": DISK}))[:-20], "damaged"),
    "not a tar archive": (b"no tar" * 1000, "damaged"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(100), "compression format zst"),
    "backed": (
        build_layer({"disk/one.img": b"QFI\xfb\0\0\0\3\0\0\0\0\0\0\2\0\0\0\0\5".ljust(512, b"\0") + b"/etc/"}),
        "is backed by another file",
    ),
}


@pytest.mark.parametrize(("layer", "message"), NO_DISK.values(), ids=NO_DISK)
def test_image_without_a_usable_disk_is_refused_with_its_name(tmp_path: Path, layer: bytes, message: str) -> None:
    images = open_images(tmp_path, make_source(tmp_path, "layout", layer))
    with pytest.raises(RefusedImageError, match=message) as caught:
        images.fetch_disk(NAME)
    assert str(caught.value).startswith(NAME)
    assert images.find_disk(NAME) is None


def test_path_traversal_in_a_layer_writes_no_file(tmp_path: Path) -> None:
    evil = {"../../escaped": b"1", "/disk/../../escaped": b"2", "disk/../escaped": b"3", "disk/one.img": DISK}
    images = open_images(tmp_path, make_source(tmp_path, "layout", build_layer(evil)))
    assert Path(images.fetch_disk(NAME).path).read_bytes() == DISK
    assert list(tmp_path.rglob("*escaped*")) == []


def test_disk_larger_than_the_limit_is_refused(tmp_path: Path) -> None:
    layer = pack(build_layer({"disk/one.img": bytes(64 << 20)}))
    images = open_images(tmp_path, make_source(tmp_path, "layout", layer), limit=1 << 20)
    with pytest.raises(RefusedImageError, match="larger than the 1048576 bytes that are allowed"):
        images.fetch_disk(NAME)


def test_layer_entry_with_a_too_large_header_is_refused(tmp_path: Path) -> None:
    bomb = tarfile.TarInfo("bomb")
    bomb.type, bomb.size = tarfile.XHDTYPE, 1 << 30
    images = open_images(tmp_path, make_source(tmp_path, "layout", bomb.tobuf() + bytes(1024)))
    with pytest.raises(RefusedImageError, match="the headers of an entry have more than 1048576 bytes"):
        images.fetch_disk(NAME)


@pytest.mark.parametrize("form", ["layout", "docker"])
def test_layer_that_does_not_match_its_digest_is_refused(tmp_path: Path, form: str) -> None:
    layer, other = build_layer({"disk/one.img": DISK}), build_layer({"disk/one.img": DISK[::-1]})
    files = build_layout({"": [layer]}) if form == "layout" else build_docker_save([layer])
    swapped = {name: other if content == layer else content for name, content in files.items()}
    images = open_images(tmp_path, write_archive(tmp_path / "image.tar", swapped))
    with pytest.raises(RefusedImageError, match=f"does not have the digest {digest(layer)}"):
        images.fetch_disk(NAME)
    assert images.find_disk(NAME) is None


def test_symlink_out_of_a_layout_is_not_followed(tmp_path: Path) -> None:
    layout = make_source(tmp_path, "layout", layer := build_layer({"disk/one.img": DISK}))
    blob = layout / "blobs" / digest(layer).replace(":", "/")
    (tmp_path / "outside").write_bytes(blob.read_bytes())
    blob.unlink()
    blob.symlink_to(tmp_path / "outside")
    with pytest.raises(RefusedImageError, match="has no file blobs/sha256"):
        open_images(tmp_path, layout).fetch_disk(NAME)


def test_files_of_a_cancelled_extraction_are_removed(tmp_path: Path) -> None:
    stop = Event()
    stop.set()
    images = open_images(tmp_path, make_source(tmp_path, "layout", build_layer({"disk/one.img": DISK})))
    with pytest.raises(StoppedError):
        images.fetch_disk(NAME, progress=until(stop))
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.parent.name != "locks"] == []


def test_image_with_too_many_layers_is_refused(tmp_path: Path) -> None:
    layers = [build_layer({f"etc/{number}": b"x"}) for number in range(501)]
    with pytest.raises(RefusedImageError, match="more than 500 layers"):
        open_images(tmp_path, make_source(tmp_path, "layout", *layers)).fetch_disk(NAME)


def test_kernel_and_initrd_are_extracted_under_their_paths(tmp_path: Path) -> None:
    layer = build_layer({"boot/vmlinuz": b"kernel", "boot/initrd": b"initrd", "boot/other": b"other"})
    images = open_images(tmp_path, make_source(tmp_path, "layout", layer))
    paths = ["/boot/vmlinuz", "/boot/initrd"]
    home = images.fetch_files(NAME, paths)
    assert sorted(path.name for path in home.rglob("*")) == ["boot", "initrd", "vmlinuz"]
    assert (home / "boot/vmlinuz").read_bytes() == b"kernel"
    assert images.fetch_files(NAME, paths) == home
    with pytest.raises(RefusedImageError, match="has no file /boot/none"):
        images.fetch_files(NAME, ["/boot/none"])


def test_image_without_a_local_file_is_refused_if_registries_are_disabled(tmp_path: Path) -> None:
    images = ContainerImages(tmp_path, from_registries=False)
    with pytest.raises(TransferError, match="registries are disabled"):
        images.fetch_disk(NAME)


def test_image_is_not_pulled_with_pull_policy_never(tmp_path: Path) -> None:
    with pytest.raises(TransferError, match="its pull policy is Never"):
        ContainerImages(tmp_path).fetch_disk(NAME, policy="Never")


def test_missing_local_file_of_an_image_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TransferError, match=r"is configured as .*/gone\.img, which does not exist"):
        open_images(tmp_path, tmp_path / "gone.img").fetch_disk(NAME)


def test_extraction_progress_covers_all_layers(tmp_path: Path) -> None:
    layers = [build_layer({"disk/one.img": DISK}), build_layer({"other": DISK})]
    progress_calls: list[tuple[int, int | None]] = []
    images = open_images(tmp_path, make_source(tmp_path, "layout", *layers))
    images.fetch_disk(NAME, progress=lambda *how_far: progress_calls.append(how_far))
    total = 2 * sum(map(len, layers))
    assert progress_calls == sorted(progress_calls)
    assert progress_calls[-1] == (total, total)


def test_layer_of_unknown_size_is_extracted(tmp_path: Path) -> None:
    layer = build_layer({"disk/one.img": DISK})
    (tmp_path / "layer").write_bytes(layer)
    layers = [Layer("one", digest(layer))]
    found = extract(layers, lambda *_: (tmp_path / "layer").open("rb"), lambda _: True, tmp_path, None, ignore)
    assert [one.name for one in found] == ["/disk/one.img"]
