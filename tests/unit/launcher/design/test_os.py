"""Boot options: boot menu, BIOS console, kernel boot and ACPI tables."""

import pytest
from tests.support.domains import design_guest, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.domain.os import AcpiTable, Kernel, Os

PLAIN = Os(architecture="x86_64", machine="pc-q35-7.2", smbios=True)
KERNEL = {"kernelBoot/kernel": Source(path="/boot/vmlinuz"), "kernelBoot/initrd": Source(path="/boot/initrd")}
CONTAINER = {"image": "kernel", "kernelPath": "/vmlinuz", "initrdPath": "/initrd"}


def test_no_boot_options_are_set_by_default() -> None:
    assert design_guest().domain.os == PLAIN


def test_guest_that_starts_paused_has_a_boot_menu_timeout() -> None:
    assert design_guest(startStrategy="Paused").domain.os.boot_menu == 10_000


def test_bios_can_use_the_serial_console() -> None:
    os = design_guest({"firmware": {"bootloader": {"bios": {"useSerial": True}}}}).domain.os
    assert os.bios_on_serial


@pytest.mark.parametrize(
    ("boot", "kernel"),
    [
        pytest.param(
            {"container": CONTAINER, "kernelArgs": "console=ttyS0"},
            Kernel(path="/boot/vmlinuz", initrd="/boot/initrd", arguments="console=ttyS0"),
            id="kernel and initrd",
        ),
        pytest.param(
            {"container": {"image": "kernel", "kernelPath": "/vmlinuz"}},
            Kernel(path="/boot/vmlinuz"),
            id="kernel without initrd",
        ),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_kernel_is_booted_directly(boot: JsonObject, kernel: Kernel | None) -> None:
    design = design_guest({"firmware": {"kernelBoot": boot}}, sources=KERNEL)
    assert design.domain.os.kernel == kernel
    assert design.refusals == ()


def test_windows_licence_acpi_tables_are_passed_to_the_guest() -> None:
    acpi = {"slicNameRef": "old", "msdmNameRef": "new"}
    sources = {"old": Source(path="/tables/slic.bin"), "new": Source(path="/tables/ms,dm.bin")}
    design = design_guest({"firmware": {"acpi": acpi}}, sources=sources)
    assert design.domain.os.acpi_tables == (AcpiTable("slic", "/tables/slic.bin"),)
    assert design.domain.arguments == ("-acpitable", "file=/tables/ms,,dm.bin")
    assert design.refusals == ()


@pytest.mark.parametrize(
    ("firmware", "refusals"),
    [
        pytest.param(
            {"kernelBoot": {"container": CONTAINER}},
            {
                "firmware.kernelBoot.container.kernelPath": "the image has no file /vmlinuz",
                "firmware.kernelBoot.container.initrdPath": "the image has no file /initrd",
            },
            id="no kernel",
        ),
        pytest.param(
            {"kernelBoot": {"kernelArgs": "quiet"}},
            {"firmware.kernelBoot.kernelArgs": "needs a kernel: set container.kernelPath"},
            id="kernel arguments without a kernel",
        ),
        pytest.param(
            {"acpi": {"slicNameRef": "old", "msdmNameRef": "new"}},
            {
                "firmware.acpi.slicNameRef": "the volume old has no ACPI table",
                "firmware.acpi.msdmNameRef": "the volume new has no ACPI table",
            },
            id="missing ACPI tables",
        ),
    ],
)
def test_missing_kernel_or_acpi_tables_are_refused(firmware: JsonObject, refusals: dict[str, str]) -> None:
    assert list_refusals(design_guest({"firmware": firmware})) == refusals
