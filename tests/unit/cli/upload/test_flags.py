"""Flags of `virtctl image-upload` and their combinations."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import call_virtctl

from virtshape.cli.upload.flags import parse_flags
from virtshape.cli.upload.objects import UploadRequest

PLAIN: dict[str, Any] = {
    "kind": "pvc",
    "name": "c1",
    "image_path": "disk.img",
    "archive_path": None,
    "size": None,
    "volume_mode": None,
    "access_mode": None,
    "no_create": False,
    "force": False,
    "pvc_name": None,
    "pvc_size": None,
    "block_volume": False,
    "default_instancetype": "",
    "default_instancetype_kind": None,
    "default_preference": "",
    "default_preference_kind": None,
    "storage_class": "",
    "force_bind": False,
    "datasource": False,
    "proxy": "",
    "insecure": False,
    "wait_seconds": 300,
    "tries": 5,
}
USUAL = UploadRequest(kind="pvc", name="c1", path=Path("disk.img"))


def change(**fields: Any) -> UploadRequest:
    return UploadRequest(**{name: getattr(USUAL, name) for name in USUAL.__struct_fields__} | fields)


VALID: dict[str, tuple[dict[str, Any], UploadRequest]] = {
    "usual": ({}, USUAL),
    "short kind of a DataVolume": ({"kind": "DV"}, change(kind="dv")),
    "long kind of a DataVolume": ({"kind": "datavolume"}, change(kind="dv")),
    "kind and name in one argument": ({"kind": "dv/d1", "name": None}, change(kind="dv", name="d1")),
    "deprecated name flag": ({"kind": None, "name": None, "pvc_name": "old"}, change(name="old")),
    "deprecated device flag": ({"block_volume": True}, change(volume_mode="block")),
    "archive": (
        {"image_path": None, "archive_path": "a.tar"},
        change(path=Path("a.tar"), is_archive=True, volume_mode="filesystem"),
    ),
    "default instance type and preference": (
        {
            "default_instancetype": "u1.small",
            "default_preference": "p",
            "default_preference_kind": "VirtualMachinePreference",
        },
        change(defaults={"instancetype": ("u1.small", ""), "preference": ("p", "VirtualMachinePreference")}),
    ),
    "forced without creation": ({"force": True, "no_create": True}, change(forces=True, creates=False)),
}


@pytest.mark.parametrize(("flags", "wanted"), VALID.values(), ids=VALID)
def test_upload_flags_are_parsed_into_a_request(flags: dict[str, Any], wanted: UploadRequest) -> None:
    assert parse_flags(**{**PLAIN, **flags}) == wanted


UPLOAD = ("image-upload", "pvc", "c1", "--image-path", "x")
INVALID: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing": (("image-upload",), "expecting two args"),
    "no name": (("image-upload", "pvc", "--image-path", "x"), "expecting two args"),
    "other kind": (("image-upload", "vm", "x", "--image-path", "x"), "invalid resource type vm"),
    "no file": (("image-upload", "pvc", "c1"), "either image-path or archive-path must be provided"),
    "two files": ((*UPLOAD, "--archive-path", "y"), "cannot handle both image-path and archive-path"),
    "two names": ((*UPLOAD, "--pvc-name", "y"), "cannot use --pvc-name and args"),
    "two sizes": ((*UPLOAD, "--size", "1Gi", "--pvc-size", "2Gi"), "--pvc-size and --size can not be specified"),
    "two modes": (
        (*UPLOAD, "--block-volume", "--volume-mode", "filesystem"),
        "--block-volume and --volume-mode can not be specified",
    ),
    "archive on a block device": (
        ("image-upload", "dv", "d1", "--archive-path", "y", "--volume-mode", "block"),
        "In archive upload the volume mode should always be filesystem",
    ),
    "read-only access mode": ((*UPLOAD, "--access-mode", "ReadOnlyMany"), "cannot upload to a readonly volume"),
    "unknown mode": ((*UPLOAD, "--access-mode", "ReadWriteOne"), 'did you mean "ReadWriteOnce"'),
    "invalid size": ((*UPLOAD, "--size", "large"), "expected a quantity"),
    "only a kind": (
        (*UPLOAD, "--default-preference-kind", "VirtualMachinePreference"),
        "--default-preference must be provided with --default-preference-kind",
    ),
    "kind of another object": (
        (*UPLOAD, "--default-instancetype", "a", "--default-instancetype-kind", "VirtualMachinePreference"),
        "unknown value",
    ),
    "defaults of an existing claim": (
        (*UPLOAD, "--no-create", "--default-instancetype", "a"),
        "cannot be used with --no-create",
    ),
    "forced upload to a DataVolume": (
        ("image-upload", "dv", "d1", "--image-path", "x", "--force"),
        "--force is only supported for a pvc\nDelete the DataVolume first: kubectl delete dv d1",
    ),
}


@pytest.mark.parametrize(("arguments", "error"), INVALID.values(), ids=INVALID)
def test_invalid_upload_flags_are_rejected(arguments: tuple[str, ...], error: str) -> None:
    outcome = call_virtctl(*arguments)
    assert (outcome.status, outcome.out, error in outcome.err) == (2, "", True), outcome.err


def test_deprecated_upload_flags_are_accepted_with_a_warning() -> None:
    outcome = call_virtctl("image-upload", "--pvc-name", "c1", "--pvc-size", "1Gi", "--image-path", "x")
    assert outcome.status == 1
    assert outcome.err.splitlines()[:3] == [
        "warning: --pvc-name is deprecated: write `pvc NAME` instead",
        "warning: --pvc-size is deprecated: write --size instead",
        "error: no server is configured",
    ]
