"""Validation of features that depend on the architecture."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import D, Findings, assert_findings

from virtshape.admission.rules.optional import check_optional_complete
from virtshape.api.model import JsonObject


def of(architecture: str | None, *, devices: JsonObject | None = None, **domain: Any) -> JsonObject:
    return {"architecture": architecture, "domain": {"devices": devices or {}, **domain}}


def disk(**target: Any) -> JsonObject:
    return {"disks": [{"name": "root", **target}]}


I6300ESB: JsonObject = {"watchdog": {"name": "w", "i6300esb": {}}}
DIAG288: JsonObject = {"watchdog": {"name": "w", "diag288": {}}}

INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "amd64 with an s390x watchdog": (
        of("amd64", devices=DIAG288),
        [(f"{D}.devices.watchdog", "amd64 only supports I6300ESB watchdog device")],
    ),
    "arm64 with a BIOS": (
        of("arm64", firmware={"bootloader": {"bios": {}}}),
        [(f"{D}.firmware.bootloader.bios", "Arm64 does not support bios boot, please change to uefi boot")],
    ),
    "arm64 with SecureBoot": (
        of("arm64", firmware={"bootloader": {"efi": {}}}),
        [(f"{D}.firmware.bootloader.efi.secureBoot", "UEFI secure boot is currently not supported on aarch64 Arch")],
    ),
    "arm64 with an unsupported CPU model": (
        of("arm64", cpu={"model": "host-model"}),
        [(f"{D}.cpu.model", "currently, host-passthrough is the only model supported on Arm64")],
    ),
    "arm64 with threads on dedicated CPUs": (
        of("arm64", cpu={"dedicatedCpuPlacement": True, "threads": 2}),
        [
            (
                "spec.architecture",
                f"threads must not be greater than 1 at {D}.cpu.threads (got 2) when spec.architecture",
            )
        ],
    ),
    "arm64 with a disk on sata": (
        of("arm64", devices=disk(disk={"bus": "sata"})),
        [(f"{D}.devices.disks[0].disk.bus", "Arm64 not support this disk bus type, please use virtio or scsi")],
    ),
    "arm64 with a CD-ROM on sata": (
        of("arm64", devices=disk(cdrom={"bus": "sata"})),
        [(f"{D}.devices.disks[0].cdrom.bus", "Arm64 not support this disk bus type")],
    ),
    "arm64 with a LUN on usb": (
        of("arm64", devices=disk(lun={"bus": "usb"})),
        [(f"{D}.devices.disks[0].lun.bus", "Arm64 not support this disk bus type")],
    ),
    "arm64 with a watchdog": (
        of("arm64", devices=I6300ESB),
        [(f"{D}.devices.watchdog", "Arm64 not support Watchdog device")],
    ),
    "arm64 with sound": (
        of("arm64", devices={"sound": {"name": "s"}}),
        [(f"{D}.devices.sound", "Arm64 not support sound device")],
    ),
    "arm64 with an x86 video type": (
        of("arm64", devices={"video": {"type": "vga"}}),
        [(f"{D}.devices.video.type", "video model 'vga' is not supported on arm64 architecture")],
    ),
    "s390x with an x86 video type": (
        of("s390x", devices={"video": {"type": "ramfb"}}),
        [(f"{D}.devices.video.type", "video model 'ramfb' is not supported on s390x architecture")],
    ),
    "s390x with an x86 watchdog": (
        of("s390x", devices=I6300ESB),
        [(f"{D}.devices.watchdog", "s390x only supports Diag288 watchdog device")],
    ),
    "s390x with a panic device": (
        of("s390x", devices={"panicDevices": [{"model": "isa"}]}),
        [(f"{D}.devices.panicDevices", "custom panic devices are not supported on s390x architecture")],
    ),
    "s390x with memory hotplug": (
        of("s390x", memory={"guest": "1Gi", "maxGuest": "2Gi"}),
        [(f"{D}.memory.maxGuest", "Memory hotplug is only available for x86_64 and arm64 VMs")],
    ),
}

VALID: dict[str, JsonObject] = {
    "amd64": of("amd64", devices={**I6300ESB, **disk(disk={"bus": "sata"}), "video": {"type": "vga"}}),
    "no architecture": of(None, devices=I6300ESB),
    "arm64": of(
        "arm64",
        devices={**disk(cdrom={"bus": "scsi"}), "video": {"type": "ramfb"}},
        firmware={"bootloader": {"efi": {"secureBoot": False}}},
        cpu={"model": "host-passthrough", "threads": 2},
        memory={"guest": "1Gi", "maxGuest": "2Gi"},
    ),
    "s390x": of("s390x", devices={**DIAG288, "video": {"type": "virtio"}}, firmware={"bootloader": {"bios": {}}}),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_feature_that_the_architecture_lacks_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_optional_complete, tree, expected)


@pytest.mark.parametrize("tree", VALID.values(), ids=VALID)
def test_guest_features_that_the_architecture_supports_are_accepted(tree: JsonObject) -> None:
    assert_findings(check_optional_complete, tree, [])
