import json
from pathlib import Path
from typing import Any

import pytest

from virtshape.launcher.host import Firmware
from virtshape.launcher.node.firmwares import read_descriptions

SECURE = ["acpi-s3", "requires-smm", "secure-boot", "enrolled-keys"]


def describe(directory: Path, name: str, features: list[str], **changes: Any) -> Firmware:
    """Write a firmware description and its files, and return the described firmware."""
    directory.mkdir(exist_ok=True)
    stem = directory / name
    code, variables = stem.with_suffix(".code"), stem.with_suffix(".vars")
    code.touch()
    variables.touch()
    tree = {
        "interface-types": ["uefi"],
        "mapping": {
            "device": "flash",
            "executable": {"filename": str(code), "format": "raw"},
            "nvram-template": {"filename": str(variables), "format": "raw"},
        },
        "targets": [{"architecture": "x86_64", "machines": ["pc-q35-*"]}],
        "features": features,
        **changes,
    }
    stem.with_suffix(".json").write_text(json.dumps(tree))
    return Firmware(str(code), str(variables), secure_boot="secure-boot" in features)


def test_firmware_descriptions_are_sorted_by_file_name(tmp_path: Path) -> None:
    plain = describe(tmp_path, "60-plain", ["acpi-s3"])
    secure = describe(tmp_path, "40-secure", SECURE)
    assert list(read_descriptions((tmp_path,), "x86_64", "pc-q35-7.2")) == [secure, plain]


def test_firmware_description_in_etc_overrides_the_one_in_usr(tmp_path: Path) -> None:
    describe(tmp_path / "usr", "60-plain", [])
    own = describe(tmp_path / "etc", "60-plain", [])
    assert list(read_descriptions((tmp_path / "etc", tmp_path / "usr"), "x86_64", "pc-q35-7.2")) == [own]


@pytest.mark.parametrize(
    ("features", "changes"),
    [
        pytest.param([], {"targets": [{"architecture": "aarch64", "machines": ["virt-*"]}]}, id="another architecture"),
        pytest.param([], {"targets": [{"architecture": "x86_64", "machines": ["pc-i440fx-*"]}]}, id="another machine"),
        pytest.param([], {"interface-types": ["bios"]}, id="not UEFI"),
        pytest.param([], {"mapping": {"device": "memory", "filename": "/x"}}, id="no variables"),
        pytest.param(["secure-boot"], {}, id="Secure Boot without keys"),
        pytest.param([], {"targets": 7}, id="not JSON"),
    ],
)
def test_unusable_firmware_description_is_skipped(tmp_path: Path, features: list[str], changes: dict[str, Any]) -> None:
    describe(tmp_path, "50-other", features, **changes)
    assert list(read_descriptions((tmp_path,), "x86_64", "pc-q35-7.2")) == []


def test_firmware_with_missing_files_is_skipped(tmp_path: Path) -> None:
    Path(describe(tmp_path, "50-gone", []).code).unlink()
    assert list(read_descriptions((tmp_path,), "x86_64", "pc-q35-7.2")) == []
