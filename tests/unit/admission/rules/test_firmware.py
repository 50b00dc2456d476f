"""Validation of firmware and bootloaders."""

import pytest
from tests.unit.admission.rules.guests import D, Findings, assert_findings, domain

from virtshape.admission.rules.vmi import check_guest
from virtshape.api.model import JsonObject

INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "two bootloaders": (
        domain(firmware={"bootloader": {"bios": {}, "efi": {"secureBoot": False}}}),
        [(f"{D}.firmware.bootloader.efi", "has both EFI and BIOS configured, but they are mutually exclusive.")],
    ),
    "SecureBoot without SMM": (
        domain(firmware={"bootloader": {"efi": {}}}),
        [
            (
                f"{D}.firmware.bootloader.efi.secureBoot",
                "has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled",
            )
        ],
    ),
    "SecureBoot with SMM off": (
        domain(firmware={"bootloader": {"efi": {"secureBoot": True}}}, features={"smm": {"enabled": False}}),
        [
            (
                f"{D}.firmware.bootloader.efi.secureBoot",
                "has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled",
            )
        ],
    ),
    "kernel arguments without a kernel": (
        domain(firmware={"kernelBoot": {"kernelArgs": "quiet"}}),
        [(f"{D}.firmware.kernelBoot.kernelArgs", "kernel arguments cannot be provided without an external kernel")],
    ),
    "kernel without an image": (
        domain(firmware={"kernelBoot": {"container": {"image": "", "kernelPath": "/k"}}}),
        [(f"{D}.firmware.kernelBoot.container.image", "must be defined with an image")],
    ),
    "kernel without a path": (
        domain(firmware={"kernelBoot": {"container": {"image": "i"}}}),
        [(f"{D}.firmware.kernelBoot.container", "must be defined with at least one of the following")],
    ),
    "relative kernel path": (
        domain(firmware={"kernelBoot": {"container": {"image": "i", "kernelPath": "k"}}}),
        [
            (
                f"{D}.firmware.kernelBoot.container.kernelPath",
                "must be an absolute path to a file without relative components, not k",
            )
        ],
    ),
    "kernel path that is the root": (
        domain(firmware={"kernelBoot": {"container": {"image": "i", "kernelPath": "/"}}}),
        [(f"{D}.firmware.kernelBoot.container.kernelPath", "must not point to root")],
    ),
    "initrd path with ..": (
        domain(firmware={"kernelBoot": {"container": {"image": "i", "initrdPath": "/a/../b"}}}),
        [
            (
                f"{D}.firmware.kernelBoot.container.initrdPath",
                "must be an absolute path to a file without relative components, not /a/../b",
            )
        ],
    ),
    "system serial with a space": (
        domain(firmware={"serial": "a b"}),
        [(f"{D}.firmware.serial", "must be made up of the following characters [A-Za-z0-9_.+-], if specified")],
    ),
    "system serial too long": (
        domain(firmware={"serial": "a" * 257}),
        [(f"{D}.firmware.serial", "must be less than or equal to 256 in length, if specified")],
    ),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_firmware_setting_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_guest, tree, expected)
