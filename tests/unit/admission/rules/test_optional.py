"""Validation of the volumes of disks and ACPI tables, and of utility volumes."""

import pytest
from tests.unit.admission.rules.guests import D, Findings, assert_findings, devices, disk, domain, guest

from virtshape.admission.rules.optional import check_optional
from virtshape.api.model import JsonObject

DISK = f"{D}.devices.disks[0]"
ACPI = f"{D}.firmware.acpi"
CLAIM: JsonObject = {"persistentVolumeClaim": {"claimName": "c"}}


def licensed(volume: JsonObject | None = None, **acpi: str) -> JsonObject:
    return {**domain(firmware={"acpi": acpi}), "volumes": [{"name": "key", **(volume or {"secret": {}})}]}


INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "disk name with a dot": (
        devices(disks=[{"name": "a.b"}]),
        [(f"{DISK}.name", "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'")],
    ),
    "LUN of a container disk": (
        disk(lun={}),
        [(f"{DISK}.lun", f"{DISK}.lun can only be mapped to a DataVolume or PersistentVolumeClaim volume.")],
    ),
    "downward metrics on a CD-ROM": (
        disk({"downwardMetrics": {}}, cdrom={}),
        [(f"{DISK}.disk", "DownwardMetrics volume must be mapped to a disk, but disk is not set on")],
    ),
    "downward metrics without a target": (
        disk({"downwardMetrics": {}}),
        [(f"{DISK}.disk", "DownwardMetrics volume must be mapped to a disk, but disk is not set on")],
    ),
    "downward metrics on SATA": (
        disk({"downwardMetrics": {}}, disk={"bus": "sata"}),
        [(f"{DISK}.disk.bus", "DownwardMetrics volume must be mapped to virtio bus, but")],
    ),
    "ACPI without a table": (licensed(), [(ACPI, "ACPI was set but no SLIC nor MSDM volume reference was set")]),
    "ACPI table of a missing volume": (
        licensed(slicNameRef="kay"),
        [(f"{ACPI}.slicNameRef", f"{ACPI} does not have a matching Volume")],
    ),
    "ACPI table on a claim": (
        licensed(CLAIM, msdmNameRef="key"),
        [(f"{ACPI}.msdmNameRef", f"{ACPI} refers to Volume of unsupported type")],
    ),
    "utility volume": (
        guest(utilityVolumes=[{"name": "u", "claimName": "c"}]),
        [("spec.utilityVolumes", "cannot create VMI with utility volumes in spec, utility volumes can only be added")],
    ),
}

VALID: dict[str, JsonObject] = {
    "LUN of a claim": disk(CLAIM, lun={}),
    "LUN of a DataVolume": disk({"dataVolume": {"name": "d"}}, lun={}),
    "LUN without a volume": devices(disks=[{"name": "a", "lun": {}}]),
    "downward metrics on virtio": disk({"downwardMetrics": {}}, disk={"bus": "virtio"}),
    "downward metrics without a bus": disk({"downwardMetrics": {}}, disk={}),
    "ACPI tables": licensed(slicNameRef="key", msdmNameRef="key"),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_volume_of_a_disk_or_acpi_table_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_optional, tree, expected)


@pytest.mark.parametrize("tree", VALID.values(), ids=VALID)
def test_valid_volumes_of_disks_and_acpi_tables_are_accepted(tree: JsonObject) -> None:
    assert_findings(check_optional, tree, [])
