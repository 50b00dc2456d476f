"""ISO images whose files have the same names on Linux and Windows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.isoimages import IsoImage

from virtshape.launcher.volumes.iso import render_iso

TREES = {
    "nothing": {},
    "one file": {"user-data": b"#cloud-config\n"},
    "an empty file": {"meta-data": b""},
    "a file of several sectors": {"big": bytes(range(256)) * 100},
    "directories in directories": {
        "openstack/latest/user_data": b"1",
        "openstack/latest/meta_data.json": b"2",
        "ec2/a": b"",
    },
    "names with the same short form": {f"configuration-{number}.yaml": b"%d" % number for number in range(120)},
    "names that differ in their case": {"Autounattend.xml": b"1", "autounattend.XML": b"2"},
    "a directory of many sectors": {f"keys/{number:04}-{'x' * 40}": b"%d" % number for number in range(300)},
    "names with dots and special characters": {".hidden": b"1", "a.b.c": b"2", "-": b"3", "_": b"4"},
}


@pytest.mark.parametrize("files", TREES.values(), ids=TREES)
def test_rock_ridge_has_every_file_under_its_name(files: dict[str, bytes]) -> None:
    assert IsoImage(render_iso(files, "cidata")).read("rr_path") == files


@pytest.mark.parametrize("files", TREES.values(), ids=TREES)
def test_joliet_directory_has_every_file(files: dict[str, bytes]) -> None:
    found = IsoImage(render_iso(files, "cidata")).read("joliet_path")
    assert sorted(found.values()) == sorted(files.values())
    assert {name.lower() for name in files if "nattend" not in name} <= {name.lower() for name in found}


def test_longest_file_names_in_an_iso_image_are_not_truncated() -> None:
    files = {"a" * 253: b"1", "a" * 252 + "b": b"2", **{f"{number}{'c' * 250}": b"3" for number in range(30)}}
    assert IsoImage(render_iso(files, "cfgdata")).read() == files


@pytest.mark.parametrize("label", ["cidata", "config-2", "OEMDRV", "unattendCD", "x" * 32])
def test_iso_image_has_the_given_label(label: str) -> None:
    assert IsoImage(render_iso({"a": b"b"}, label)).label == label


def test_iso_image_is_reproducible() -> None:
    assert render_iso({"a": b"1", "b": b"2"}, "x") == render_iso({"a": b"1", "b": b"2"}, "x")


def test_iso_image_size_is_a_multiple_of_the_largest_block_size() -> None:
    assert len(render_iso({"a": b"1"}, "x")) % 65536 == 0


NAMES = st.text("abcdefgh.-_ABC0123", min_size=1, max_size=60).filter(lambda name: name not in {".", ".."})


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(NAMES, st.binary(max_size=5000), max_size=20))
def test_files_written_to_an_iso_image_are_read_back(files: dict[str, bytes]) -> None:
    image = IsoImage(render_iso(files, "label"))
    assert image.read() == files
    assert sorted(image.read("joliet_path").values()) == sorted(files.values())
