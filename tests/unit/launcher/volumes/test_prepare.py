"""Every kind of volume: the resulting image, its state after a restart, and the reported problems."""

import json
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.domains import build_guest
from tests.support.isoimages import IsoImage

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import Volume
from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.report import Refusal
from virtshape.launcher.volumes.prepare import prepare_volumes
from virtshape.launcher.volumes.task import VolumeError

MIB = 1 << 20
DISK = b"\xeb\x63".ljust(512, b"\0") + bytes(MIB)


@pytest.fixture(autouse=True)
def _needs_qemu_img() -> None:
    if shutil.which("qemu-img") is None:
        pytest.skip("qemu-img is not installed: see the package qemu-utils")


@pytest.fixture
def guest(tmp_path: Path) -> Path:
    return tmp_path / "guest"


@pytest.fixture
def material(tmp_path: Path) -> Path:
    directory = tmp_path / "material"
    directory.mkdir()
    return directory


def build(source: JsonObject, **spec: Any) -> VirtualMachineInstance:
    """Build an instance with one volume and a disk that uses it."""
    return build_guest({"devices": {"disks": [{"name": "one"}]}}, volumes=[{"name": "one", **source}], **spec)


def prepare(guest: Path, source: JsonObject, mount: Path | None = None, **options: Any) -> Source:
    mounts = {"one": str(mount)} if mount is not None else {}
    return prepare_volumes(build(source), mounts, str(guest), **options)["one"]


def describe(path: str) -> dict[str, Any]:
    output = subprocess.run(["qemu-img", "info", "-U", "--output=json", path], check=True, capture_output=True)  # noqa: S607
    answer: dict[str, Any] = json.loads(output.stdout)
    return answer


def write_to(path: str, text: str) -> None:
    use_disk(path, f"write -P {ord(text)} 0 512")


def holds(path: str, text: str) -> bool:
    return "verification failed" not in use_disk(path, f"read -P {ord(text)} 0 512")


def use_disk(path: str, command: str) -> str:
    line = ["qemu-io", "-f", "qcow2", "-c", command, path]
    return subprocess.run(line, check=False, capture_output=True, text=True).stdout


def make_image(path: Path, form: str = "raw") -> Path:
    if form == "raw":
        path.write_bytes(DISK)
    else:
        subprocess.run(["qemu-img", "create", "-q", "-f", form, str(path), "8M"], check=True)  # noqa: S607
    return path


def make_claim(material: Path) -> Path:
    make_image(material / "disk.img")
    return material


CONTAINER: JsonObject = {"containerDisk": {"image": "disk:1"}}
EPHEMERAL: JsonObject = {"ephemeral": {"persistentVolumeClaim": {"claimName": "data"}}}


@pytest.mark.parametrize(("form", "size"), [("raw", len(DISK)), ("qcow2", 8 * MIB)])
def test_container_disk_gets_an_overlay_and_stays_unchanged(guest: Path, material: Path, form: str, size: int) -> None:
    base = make_image(material / "base", form)
    before = base.read_bytes()
    source = prepare(guest, CONTAINER, base)
    found = describe(source.path)
    assert (source.format, source.kind, source.read_only) == ("qcow2", "file", False)
    assert (found["virtual-size"], found["backing-filename"]) == (size, str(base))
    assert found["backing-filename-format"] == form
    write_to(source.path, "x")
    assert base.read_bytes() == before


def test_ephemeral_volume_gets_an_overlay_and_its_claim_stays_unchanged(guest: Path, material: Path) -> None:
    source = prepare(guest, EPHEMERAL, make_claim(material))
    write_to(source.path, "x")
    assert describe(source.path)["backing-filename"] == str(material / "disk.img")
    assert (material / "disk.img").read_bytes() == DISK


@pytest.mark.parametrize(
    "source", [CONTAINER, EPHEMERAL, {"emptyDisk": {"capacity": "1Mi"}}], ids=lambda tree: next(iter(tree))
)
def test_writes_of_a_guest_survive_a_restart(guest: Path, material: Path, source: JsonObject) -> None:
    mount = make_claim(material) if source is EPHEMERAL else make_image(material / "base")
    first = prepare(guest, source, mount)
    write_to(first.path, "x")
    assert prepare(guest, source, mount) == first
    assert holds(first.path, "x")


def test_overlay_of_another_image_is_discarded(guest: Path, material: Path) -> None:
    write_to(prepare(guest, CONTAINER, make_image(material / "one")).path, "x")
    source = prepare(guest, CONTAINER, make_image(material / "two"))
    assert describe(source.path)["backing-filename"] == str(material / "two")
    assert not holds(source.path, "x")


@pytest.mark.parametrize(
    "source",
    [{"persistentVolumeClaim": {"claimName": "data"}}, {"dataVolume": {"name": "data"}}],
    ids=lambda tree: next(iter(tree)),
)
def test_image_of_a_claim_is_used_unchanged(guest: Path, material: Path, source: JsonObject) -> None:
    block = os.statvfs(material).f_bsize
    assert prepare(guest, source, make_claim(material)) == Source(
        path=str(material / "disk.img"),
        direct_io=True,
        preallocated=True,
        logical_block_size=block,
        physical_block_size=block,
    )


def test_image_of_a_claim_is_opened_as_raw_even_if_it_contains_qcow2_data(guest: Path, material: Path) -> None:
    make_image(material / "disk.img", "qcow2")
    assert prepare(guest, {"dataVolume": {"name": "data"}}, material).format == "raw"


def test_block_device_of_a_claim_is_used_directly(guest: Path, material: Path) -> None:
    device = make_image(material / "device")
    assert prepare(guest, {"dataVolume": {"name": "data"}}, device).path == str(device)


def test_disk_of_a_read_only_claim_is_read_only(guest: Path, material: Path) -> None:
    source = {"persistentVolumeClaim": {"claimName": "data", "readOnly": True}}
    assert prepare(guest, source, make_claim(material)).read_only


def test_sparse_claim_is_not_preallocated(guest: Path, material: Path) -> None:
    with (material / "disk.img").open("wb") as file:
        file.truncate(64 * MIB)
    assert not prepare(guest, {"dataVolume": {"name": "data"}}, material).preallocated


@pytest.mark.parametrize(("capacity", "size"), [("1Gi", 1 << 30), ("10M", 10_002_432), ("1", 4096)])
def test_empty_disk_has_its_capacity_and_is_sparse(guest: Path, capacity: str, size: int) -> None:
    source = prepare(guest, {"emptyDisk": {"capacity": capacity}})
    assert (source.format, describe(source.path)["virtual-size"]) == ("qcow2", size)
    assert Path(source.path).stat().st_blocks * 512 < MIB


FILES = {"a.conf": b"a=1\n", "token": b"secret"}
MADE_OF_FILES: dict[str, tuple[JsonObject, str]] = {
    "configMap": ({"configMap": {"name": "c"}}, "cfgdata"),
    "configMap with a label": ({"configMap": {"name": "c", "volumeLabel": "OEMDRV"}}, "OEMDRV"),
    "secret": ({"secret": {"secretName": "s"}}, "cfgdata"),
    "secret with a label": ({"secret": {"secretName": "s", "volumeLabel": "cidata"}}, "cidata"),
    "serviceAccount": ({"serviceAccount": {"serviceAccountName": "default"}}, "cfgdata"),
    "downwardAPI": ({"downwardAPI": {"fields": [], "volumeLabel": "facts"}}, "facts"),
}


def write_files(material: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (material / name).parent.mkdir(parents=True, exist_ok=True)
        (material / name).write_bytes(content)
    return material


@pytest.mark.parametrize(("source", "label"), MADE_OF_FILES.values(), ids=MADE_OF_FILES)
def test_volume_of_files_becomes_a_private_iso_image(
    guest: Path, material: Path, source: JsonObject, label: str
) -> None:
    found = prepare(guest, source, write_files(material, FILES))
    image = IsoImage(Path(found.path))
    assert (image.label, image.read()) == (label, FILES)
    assert Path(found.path).stat().st_mode & 0o777 == 0o600


def test_iso_image_contains_the_visible_files_of_a_kubernetes_mount(guest: Path, material: Path) -> None:
    write_files(material, {"..2024/a.conf": b"a=1\n", "..2024/dir/b": b"b"})
    (material / "..data").symlink_to("..2024")
    (material / "a.conf").symlink_to("..data/a.conf")
    (material / "outside").symlink_to("/etc/hostname")
    assert IsoImage(Path(prepare(guest, {"configMap": {"name": "c"}}, material).path)).read() == {"a.conf": b"a=1\n"}


@pytest.mark.parametrize("source", [{"configMap": {"name": "c", "optional": True}}, {"secret": {"optional": True}}])
def test_missing_optional_source_becomes_an_empty_iso_image(guest: Path, source: JsonObject) -> None:
    assert IsoImage(Path(prepare(guest, source).path)).read() == {}


def test_sysprep_files_become_an_iso_image_for_windows(guest: Path, material: Path) -> None:
    mount = write_files(material, {"Autounattend.xml": b"<unattend/>"})
    image = IsoImage(Path(prepare(guest, {"sysprep": {"configMap": {"name": "c"}}}, mount).path))
    assert (image.label, image.read("joliet_path")) == ("unattendCD", {"Autounattend.xml": b"<unattend/>"})


def test_acpi_table_is_read_from_a_secret(guest: Path, material: Path) -> None:
    vmi = build_guest(
        {"devices": {}, "firmware": {"acpi": {"slicNameRef": "slic"}}},
        volumes=[{"name": "slic", "secret": {"secretName": "s"}}],
    )
    mounts = {"slic": str(write_files(material, {"slic.bin": b"table"}))}
    found = prepare_volumes(vmi, mounts, str(guest))
    assert found == {"slic": Source(path=str(material / "slic.bin"), read_only=True)}


def test_volume_without_a_disk_needs_no_image(guest: Path) -> None:
    vmi = build_guest({"devices": {}}, volumes=[{"name": "shared", "persistentVolumeClaim": {"claimName": "data"}}])
    assert prepare_volumes(vmi, {}, str(guest)) == {}


NO_IMAGE: dict[str, JsonObject] = {
    "memoryDump": {"memoryDump": {"claimName": "dump"}},
    "downwardMetrics": {"downwardMetrics": {}},
    "containerPath": {"containerPath": {"path": "/etc"}},
}


@pytest.mark.parametrize("source", NO_IMAGE.values(), ids=NO_IMAGE)
def test_volumes_that_are_not_disks_get_no_image(guest: Path, source: JsonObject) -> None:
    assert prepare_volumes(build(source), {}, str(guest)) == {}


def test_every_kind_of_volume_is_tested() -> None:
    tested = {*NO_IMAGE, *(next(iter(tree)) for tree, _ in MADE_OF_FILES.values()), "sysprep", "hostDisk"}
    tested |= {"containerDisk", "ephemeral", "emptyDisk", "persistentVolumeClaim", "dataVolume"}
    tested |= {"cloudInitNoCloud", "cloudInitConfigDrive"}
    assert tested == set(Volume.__struct_encode_fields__) - {"name"}


def test_kernel_and_initrd_are_found_under_their_paths(guest: Path, material: Path) -> None:
    container = {"image": "kernel:1", "kernelPath": "/boot/vmlinuz", "initrdPath": "/../../etc/passwd"}
    vmi = build_guest({"devices": {}, "firmware": {"kernelBoot": {"container": container}}})
    mounts = {"kernelBoot": str(write_files(material, {"boot/vmlinuz": b"kernel"}))}
    found = prepare_volumes(vmi, mounts, str(guest))
    assert found == {"kernelBoot/kernel": Source(path=str(material / "boot/vmlinuz"), read_only=True)}


def build_backed_image() -> bytes:
    header = struct.pack(">4sIQIIQI", b"QFI\xfb", 3, 112, 11, 16, MIB, 0).ljust(104, b"\0")
    return header.ljust(112, b"\0") + b"/etc/shadow"


PROBLEMS: dict[str, tuple[JsonObject, dict[str, bytes] | None, str, str]] = {
    "missing container disk": (CONTAINER, None, "containerDisk", "its content is missing"),
    "container disk with a backing file": (
        CONTAINER,
        {"": build_backed_image()},
        "containerDisk",
        "its image cannot be used: it is backed by another file",
    ),
    "container disk of unsupported format": (
        CONTAINER,
        {"": b"vhdxfile".ljust(MIB)},
        "containerDisk",
        "neither raw nor qcow2",
    ),
    "empty container disk": (CONTAINER, {"": b""}, "containerDisk", "its image is empty"),
    "claim without a disk": ({"dataVolume": {"name": "d"}}, {"other": b""}, "dataVolume", "it contains no disk.img"),
    "empty disk without space": (
        {"emptyDisk": {"capacity": "0"}},
        None,
        "emptyDisk.capacity",
        "must be greater than zero",
    ),
    "missing ConfigMap": ({"configMap": {"name": "c"}}, None, "configMap", "its content is missing"),
    "label that is too long": (
        {"configMap": {"name": "c", "volumeLabel": "x" * 33}},
        {"a": b""},
        "configMap.volumeLabel",
        "at most 32 characters",
    ),
    "sysprep without an answer file": (
        {"sysprep": {"secret": {"name": "s"}}},
        {"other.xml": b""},
        "sysprep",
        "neither autounattend.xml nor unattend.xml",
    ),
    "host disk outside the allowed directories": (
        {"hostDisk": {"path": "/etc/passwd", "type": "Disk"}},
        None,
        "hostDisk",
        "allows no host disks",
    ),
}


@pytest.mark.parametrize(("source", "files", "field", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_unusable_volume_is_reported_with_its_field(
    guest: Path, material: Path, source: JsonObject, files: dict[str, bytes] | None, field: str, message: str
) -> None:
    mount = material / "image" if files is not None and "" in files else material
    if files is not None:
        write_files(material, {name or "image": content for name, content in files.items()})
    with pytest.raises(VolumeError) as caught:
        prepare(guest, source, mount if files is not None else None)
    (problem,) = caught.value.problems
    assert problem.field == f"spec.volumes[0].{field}"
    assert message in problem.reason
    assert str(caught.value) == f"{problem.field}: {problem.reason}"


def test_problems_of_all_volumes_are_reported_at_once(guest: Path) -> None:
    vmi = build_guest(
        {"devices": {"disks": [{"name": "one"}, {"name": "two"}]}},
        volumes=[{"name": "one", **CONTAINER}, {"name": "two", "dataVolume": {"name": "d"}}],
    )
    with pytest.raises(VolumeError) as caught:
        prepare_volumes(vmi, {}, str(guest))
    assert caught.value.problems == (
        Refusal("spec.volumes[0].containerDisk", "its content is missing"),
        Refusal("spec.volumes[1].dataVolume", "its content is missing"),
    )


def test_temporary_files_of_a_killed_process_are_removed(guest: Path) -> None:
    leftover = guest / "volumes" / ".one.qcow2.999999999-00000000.partial"
    leftover.parent.mkdir(parents=True)
    leftover.touch()
    prepare(guest, {"emptyDisk": {"capacity": "1Mi"}})
    assert not leftover.exists()
