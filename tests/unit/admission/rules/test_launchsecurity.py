"""Validation of launch security."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import D, Findings, assert_findings

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


INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "no type": (secured({}), [(AT, "One and only one launchSecurity type can be set")]),
    "two types": (secured({"sev": {}, "tdx": {}}), [(AT, "One and only one launchSecurity type can be set")]),
    "SEV without EFI": (secured({"sev": {}}, None), [(AT, "SEV requires OVMF (UEFI)")]),
    "SNP with BIOS": (secured({"snp": {}}, {"bios": {}}), [(AT, "SNP requires OVMF (UEFI)")]),
    "TDX without EFI": (secured({"tdx": {}}, None), [(AT, "TDX requires OVMF (UEFI)")]),
    "SEV with SecureBoot": (secured({"sev": {}}, {"efi": {}}), [(AT, "SEV does not work along with SecureBoot")]),
    "SNP with SecureBoot": (
        secured({"snp": {}}, {"efi": {"secureBoot": True}}),
        [(AT, "SNP does not work along with SecureBoot")],
    ),
    "SNP with persistent EFI": (
        secured({"snp": {}}, {"efi": {"secureBoot": False, "persistent": True}}),
        [(AT, "SNP does not work along with Persistent EFI variables")],
    ),
    "TDX with persistent EFI": (
        secured({"tdx": {}}, {"efi": {"secureBoot": False, "persistent": True}}),
        [(AT, "TDX does not work along with Persistent EFI variables")],
    ),
    "TDX with SMM": (secured({"tdx": {}}, features={"smm": {}}), [(AT, "TDX does not work along with SMM")]),
    "SEV attestation without a paused start": (
        secured({"sev": {"attestation": {}}}),
        [(AT, "SEV attestation requires VMI StartStrategy 'Paused'")],
    ),
    "SEV with network boot": (
        secured({"sev": {}}, devices={"interfaces": [{"name": "lan", "bootOrder": 1}]}),
        [(AT, "SEV does not work with bootable NICs: lan")],
    ),
    "SEV on arm64": (secured({"sev": {}}, architecture="arm64"), [(AT, "SEV is only available on amd64")]),
    "TDX on s390x": (secured({"tdx": {}}, architecture="s390x"), [(AT, "TDX is only available on amd64")]),
    "launch security on arm64": (
        secured({}, architecture="arm64"),
        [(AT, "launchSecurity is only available on amd64")],
    ),
}

VALID: dict[str, JsonObject] = {
    "SEV": secured({"sev": {}}),
    "SEV with persistent EFI": secured({"sev": {}}, {"efi": {"secureBoot": False, "persistent": True}}),
    "SEV attestation with a paused start": secured({"sev": {"attestation": {}}}, spec={"startStrategy": "Paused"}),
    "SNP": secured({"snp": {}}),
    "TDX": secured({"tdx": {}}),
    "Secure Execution": secured({}, None, architecture="s390x"),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_launch_security_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_optional_complete, tree, expected)


@pytest.mark.parametrize("tree", VALID.values(), ids=VALID)
def test_valid_launch_security_is_accepted(tree: JsonObject) -> None:
    assert_findings(check_optional_complete, tree, [])
