"""Validation of launch security."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import D, Told, expect

from virtshape.admission.rules.optional import check_optional_complete
from virtshape.api.model import JsonObject

AT = f"{D}.launchSecurity"
PLAIN: JsonObject = {"efi": {"secureBoot": False}}


def secured(
    security: JsonObject,
    bootloader: JsonObject | None = PLAIN,
    *,
    architecture: str = "amd64",
    spec: JsonObject | None = None,
    **domain: Any,
) -> JsonObject:
    firmware = {"bootloader": bootloader} if bootloader is not None else {}
    hardware = {"launchSecurity": security, "firmware": firmware, **domain}
    return {"architecture": architecture, "domain": hardware, **(spec or {})}


BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "by nothing": (secured({}), [(AT, "One and only one launchSecurity type can be set")]),
    "twice": (secured({"sev": {}, "tdx": {}}), [(AT, "One and only one launchSecurity type can be set")]),
    "SEV without EFI": (secured({"sev": {}}, None), [(AT, "SEV requires OVMF (UEFI)")]),
    "SNP with a BIOS": (secured({"snp": {}}, {"bios": {}}), [(AT, "SNP requires OVMF (UEFI)")]),
    "TDX without EFI": (secured({"tdx": {}}, None), [(AT, "TDX requires OVMF (UEFI)")]),
    "SEV with SecureBoot": (secured({"sev": {}}, {"efi": {}}), [(AT, "SEV does not work along with SecureBoot")]),
    "SNP with SecureBoot": (
        secured({"snp": {}}, {"efi": {"secureBoot": True}}),
        [(AT, "SNP does not work along with SecureBoot")],
    ),
    "SNP with EFI that remembers": (
        secured({"snp": {}}, {"efi": {"secureBoot": False, "persistent": True}}),
        [(AT, "SNP does not work along with Persistent EFI variables")],
    ),
    "TDX with EFI that remembers": (
        secured({"tdx": {}}, {"efi": {"secureBoot": False, "persistent": True}}),
        [(AT, "TDX does not work along with Persistent EFI variables")],
    ),
    "TDX with SMM": (secured({"tdx": {}}, features={"smm": {}}), [(AT, "TDX does not work along with SMM")]),
    "SEV attested while it runs": (
        secured({"sev": {"attestation": {}}}),
        [(AT, "SEV attestation requires VMI StartStrategy 'Paused'")],
    ),
    "SEV from the network": (
        secured({"sev": {}}, devices={"interfaces": [{"name": "lan", "bootOrder": 1}]}),
        [(AT, "SEV does not work with bootable NICs: lan")],
    ),
    "SEV on arm64": (secured({"sev": {}}, architecture="arm64"), [(AT, "SEV is only available on amd64")]),
    "TDX on s390x": (secured({"tdx": {}}, architecture="s390x"), [(AT, "TDX is only available on amd64")]),
    "something on arm64": (secured({}, architecture="arm64"), [(AT, "launchSecurity is only available on amd64")]),
}

KEPT: dict[str, JsonObject] = {
    "SEV": secured({"sev": {}}),
    "SEV with EFI that remembers": secured({"sev": {}}, {"efi": {"secureBoot": False, "persistent": True}}),
    "SEV attested": secured({"sev": {"attestation": {}}}, spec={"startStrategy": "Paused"}),
    "SNP": secured({"snp": {}}),
    "TDX": secured({"tdx": {}}),
    "Secure Execution": secured({}, None, architecture="s390x"),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_optional_complete, tree, told)


@pytest.mark.parametrize("tree", KEPT.values(), ids=KEPT)
def test_valid_objects_pass(tree: JsonObject) -> None:
    expect(check_optional_complete, tree, [])
