"""Validation of volume sources."""

import pytest
from tests.unit.admission.rules.guests import Findings, assert_findings, guest, volume

from virtshape.admission.rules.vmi import check_guest
from virtshape.api.model import JsonObject

VOLUME = "spec.volumes[0]"
INIT = f"{VOLUME}.cloudInitNoCloud"

INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "relative path in a container disk": (
        volume(containerDisk={"image": "i", "path": "disk/a"}),
        [
            (
                f"{VOLUME}.containerDisk.path",
                "must be an absolute path to a file without relative components, not disk/a",
            )
        ],
    ),
    "container disk without an image": (
        volume(containerDisk={"image": ""}),
        [(f"{VOLUME}.containerDisk.image", "is a required field")],
    ),
    "claim without a name": (
        volume(persistentVolumeClaim={"claimName": ""}),
        [(f"{VOLUME}.persistentVolumeClaim.claimName", "is a required field")],
    ),
    "DataVolume without a name": (
        volume(dataVolume={"name": ""}),
        [(f"{VOLUME}.dataVolume.name", "DataVolume 'name' must be set")],
    ),
    "ConfigMap without a name": (volume(configMap={}), [(f"{VOLUME}.configMap.name", "is a required field")]),
    "Secret without a name": (volume(secret={}), [(f"{VOLUME}.secret.secretName", "is a required field")]),
    "service account without a name": (
        volume(serviceAccount={}),
        [(f"{VOLUME}.serviceAccount.serviceAccountName", "is a required field")],
    ),
    "empty disk of size 0": (
        volume(emptyDisk={"capacity": "0"}),
        [(f"{VOLUME}.emptyDisk.capacity", "must be greater than 0")],
    ),
    "host disk without a path": (
        volume(hostDisk={"path": "", "type": "Disk"}),
        [(f"{VOLUME}.hostDisk.path", "is required for hostDisk volume")],
    ),
    "new host disk without a size": (
        volume(hostDisk={"path": "/a", "type": "DiskOrCreate"}),
        [(f"{VOLUME}.hostDisk.capacity", "is required with")],
    ),
    "existing host disk with a size": (
        volume(hostDisk={"path": "/a", "type": "Disk", "capacity": "1Gi"}),
        [(f"{VOLUME}.hostDisk.capacity", "is allowed to pass only with")],
    ),
    "unknown host disk type": (
        volume(hostDisk={"path": "/a", "type": "Tape"}),
        [(f"{VOLUME}.hostDisk.type", "has invalid value 'Tape', allowed are 'Disk' or 'DiskOrCreate")],
    ),
    "sysprep without a source": (
        volume(sysprep={}),
        [(f"{VOLUME}.sysprep", "must have exactly one of secret and configMap")],
    ),
    "two memory dumps": (
        guest(volumes=[{"name": name, "memoryDump": {"claimName": "c"}} for name in "ab"]),
        [("spec.volumes", "must have max one memory dump volume set")],
    ),
    "cloud-init without data": (
        volume(cloudInitNoCloud={}),
        [(INIT, "must have at least one userdatasource or one networkdatasource set")],
    ),
    "two user data fields": (
        volume(cloudInitNoCloud={"userData": "a", "userDataBase64": "YQ=="}),
        [(f"{INIT}.userData", "must have only one userdatasource set")],
    ),
    "user data too long": (
        volume(cloudInitNoCloud={"userData": "a" * 2049}),
        [(f"{INIT}.userData", "userdata exceeds 2048 byte limit. Should use UserDataSecretRef for larger data")],
    ),
    "invalid base64 user data": (
        volume(cloudInitNoCloud={"userDataBase64": "#"}),
        [(f"{INIT}.userDataBase64", "is not a valid base64 value.")],
    ),
    "non-ASCII base64 user data": (
        volume(cloudInitNoCloud={"userDataBase64": "é💥"}),
        [(f"{INIT}.userDataBase64", "is not a valid base64 value.")],
    ),
    "network data too long": (
        volume(cloudInitConfigDrive={"networkDataBase64": "YWFh" * 683}),
        [
            (
                f"{VOLUME}.cloudInitConfigDrive.networkDataBase64",
                "networkdata exceeds 2048 byte limit. Should use NetworkDataSecretRef for larger data",
            )
        ],
    ),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_volume_source_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_guest, tree, expected)
