"""Validation of the volumes of disks and ACPI tables, and of utility volumes."""

import pytest
from tests.unit.admission.rules.guests import D, Told, devices, disk, domain, expect, guest

from virtshape.admission.rules.optional import check_optional
from virtshape.api.model import JsonObject

DISK = f"{D}.devices.disks[0]"
ACPI = f"{D}.firmware.acpi"
CLAIM: JsonObject = {"persistentVolumeClaim": {"claimName": "c"}}


def licensed(volume: JsonObject | None = None, **acpi: str) -> JsonObject:
    return {**domain(firmware={"acpi": acpi}), "volumes": [{"name": "key", **(volume or {"secret": {}})}]}


BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "a disk with a dot in its name": (
        devices(disks=[{"name": "a.b"}]),
        [(f"{DISK}.name", "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'")],
    ),
    "a LUN of a container disk": (
        disk(lun={}),
        [(f"{DISK}.lun", f"{DISK}.lun can only be mapped to a DataVolume or PersistentVolumeClaim volume.")],
    ),
    "metrics on a CD-ROM": (
        disk({"downwardMetrics": {}}, cdrom={}),
        [(f"{DISK}.disk", "DownwardMetrics volume must be mapped to a disk, but disk is not set on")],
    ),
    "metrics on sata": (
        disk({"downwardMetrics": {}}, disk={"bus": "sata"}),
        [(f"{DISK}.disk.bus", "DownwardMetrics volume must be mapped to virtio bus, but")],
    ),
    "tables of nothing": (licensed(), [(ACPI, "ACPI was set but no SLIC nor MSDM volume reference was set")]),
    "a table that is not there": (
        licensed(slicNameRef="kay"),
        [(f"{ACPI}.slicNameRef", f"{ACPI} does not have a matching Volume")],
    ),
    "a table on a claim": (
        licensed(CLAIM, msdmNameRef="key"),
        [(f"{ACPI}.msdmNameRef", f"{ACPI} refers to Volume of unsupported type")],
    ),
    "a volume of the system's own": (
        guest(utilityVolumes=[{"name": "u", "claimName": "c"}]),
        [("spec.utilityVolumes", "cannot create VMI with utility volumes in spec, utility volumes can only be added")],
    ),
}

KEPT: dict[str, JsonObject] = {
    "a LUN of a claim": disk(CLAIM, lun={}),
    "a LUN of a DataVolume": disk({"dataVolume": {"name": "d"}}, lun={}),
    "a LUN without its volume": devices(disks=[{"name": "a", "lun": {}}]),
    "metrics": disk({"downwardMetrics": {}}, disk={"bus": "virtio"}),
    "metrics on a bare disk": disk({"downwardMetrics": {}}),
    "tables": licensed(slicNameRef="key", msdmNameRef="key"),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_optional, tree, told)


@pytest.mark.parametrize("tree", KEPT.values(), ids=KEPT)
def test_valid_objects_pass(tree: JsonObject) -> None:
    expect(check_optional, tree, [])
