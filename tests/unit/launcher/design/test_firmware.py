"""The choice of firmware."""

import pytest
from msgspec.structs import replace
from tests.support.domains import (
    ACCELERATED,
    OVMF,
    OVMF_SECURE,
    VARIABLES,
    VARIABLES_SECURE,
    design_guest,
    list_refusals,
)

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.os import Loader
from virtshape.launcher.host import Host

PLAIN = Loader(code=OVMF, variables_template=VARIABLES)
SECURE = Loader(code=OVMF_SECURE, secure=True, variables_template=VARIABLES_SECURE)
ARM = replace(ACCELERATED, architecture="arm64", machine_types=frozenset({"virt"}))
MAINFRAME = replace(ACCELERATED, architecture="s390x", machine_types=frozenset({"s390-ccw-virtio"}))


def boot(**bootloader: JsonObject | None) -> JsonObject:
    return {"firmware": {"bootloader": bootloader}, "features": {"smm": {}}}


@pytest.mark.parametrize(
    ("domain", "loader"),
    [
        pytest.param({}, None, id="BIOS by default"),
        pytest.param(boot(bios={}), None, id="BIOS"),
        pytest.param(boot(efi={}), SECURE, id="Secure Boot by default"),
        pytest.param(boot(efi={"secureBoot": True}), SECURE, id="Secure Boot"),
        pytest.param(boot(efi={"secureBoot": False}), PLAIN, id="EFI without Secure Boot"),
        pytest.param(
            boot(efi={"secureBoot": False, "persistent": True}),
            replace(PLAIN, variables="/state/guest_VARS.fd"),
            id="persistent variables",
        ),
    ],
)
def test_matching_firmware_is_chosen(domain: JsonObject, loader: Loader | None) -> None:
    design = design_guest(domain)
    assert design.domain.os.loader == loader
    assert design.refusals == ()


def test_arm_guests_boot_with_efi() -> None:
    design = design_guest(host=ARM)
    assert design.domain.os.loader == PLAIN
    assert design.refusals == ()


@pytest.mark.parametrize("kind", ["snp", "tdx"])
def test_measured_firmware_has_no_variable_store(kind: str) -> None:
    host = replace(ACCELERATED, snp=True, tdx=True)
    design = design_guest({**boot(efi={"secureBoot": False}), "launchSecurity": {kind: {}}}, host=host)
    assert design.domain.os.loader == Loader(code=OVMF, kind="rom")
    assert design.refusals == ()


@pytest.mark.parametrize(
    ("domain", "host", "refusals"),
    [
        pytest.param(
            {"firmware": {"bootloader": {"efi": {}}}},
            ACCELERATED,
            {"features.smm": "is required for Secure Boot: enable it, or set efi.secureBoot to false"},
            id="Secure Boot without SMM",
        ),
        pytest.param(
            boot(efi={}),
            replace(ACCELERATED, firmwares=ACCELERATED.firmwares[1:]),
            {"firmware.bootloader.efi": "this host has no UEFI firmware with Secure Boot"},
            id="no matching firmware",
        ),
        pytest.param(
            boot(efi={"secureBoot": False}),
            replace(ACCELERATED, firmwares=()),
            {"firmware.bootloader.efi": "this host has no UEFI firmware without Secure Boot"},
            id="no firmware",
        ),
        pytest.param(
            {"firmware": {"bootloader": {"efi": {}}}},
            MAINFRAME,
            {"firmware.bootloader.efi": "is not supported for s390x guests"},
            id="EFI on s390x",
        ),
        pytest.param(
            {"firmware": {"bootloader": {"bios": {}}}},
            ARM,
            {"firmware.bootloader.bios": "is not supported for arm64 guests"},
            id="BIOS on arm64",
        ),
        pytest.param(
            {**boot(bios={"useSerial": True}), "devices": {"autoattachSerialConsole": False}},
            ACCELERATED,
            {"firmware.bootloader.bios.useSerial": "needs a serial console"},
            id="BIOS console without a serial port",
        ),
        pytest.param(
            {**boot(efi={}), "launchSecurity": {"sev": {}}},
            ACCELERATED,
            {
                "firmware.bootloader.efi.secureBoot": "is not supported for guests with encrypted memory: "
                "set it to false"
            },
            id="Secure Boot with SEV",
        ),
        pytest.param(
            {"launchSecurity": {"sev": {}}},
            ACCELERATED,
            {"firmware.bootloader": "guests with encrypted memory need EFI: set efi"},
            id="SEV without EFI",
        ),
        pytest.param(
            {**boot(efi={"secureBoot": False, "persistent": True}), "launchSecurity": {"snp": {}}},
            replace(ACCELERATED, snp=True),
            {"firmware.bootloader.efi.persistent": "is not supported for SEV-SNP and TDX guests"},
            id="persistent variables with SEV-SNP",
        ),
    ],
)
def test_unavailable_firmware_is_refused(domain: JsonObject, host: Host, refusals: dict[str, str]) -> None:
    assert list_refusals(design_guest(domain, host=host)) == refusals


def test_persistent_efi_variables_require_a_state_directory() -> None:
    design = design_guest(boot(efi={"persistent": True}), state_directory=None)
    assert list_refusals(design) == {
        "firmware.bootloader.efi.persistent": "this host has no storage for persistent firmware variables"
    }
