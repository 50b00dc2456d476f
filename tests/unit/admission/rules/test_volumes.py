"""Validation of volume sources."""

import pytest
from tests.unit.admission.rules.guests import Told, expect, guest, volume

from virtshape.admission.rules.instance import check_guest
from virtshape.api.model import JsonObject

VOLUME = "spec.volumes[0]"
INIT = f"{VOLUME}.cloudInitNoCloud"

BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "a container disk by a detour": (
        volume(containerDisk={"image": "i", "path": "disk/a"}),
        [
            (
                f"{VOLUME}.containerDisk.path",
                "must be an absolute path to a file without relative components, not disk/a",
            )
        ],
    ),
    "a container disk of no image": (
        volume(containerDisk={"image": ""}),
        [(f"{VOLUME}.containerDisk.image", "is a required field")],
    ),
    "a claim of no name": (
        volume(persistentVolumeClaim={"claimName": ""}),
        [(f"{VOLUME}.persistentVolumeClaim.claimName", "is a required field")],
    ),
    "a DataVolume of no name": (
        volume(dataVolume={"name": ""}),
        [(f"{VOLUME}.dataVolume.name", "DataVolume 'name' must be set")],
    ),
    "a config map of no name": (volume(configMap={}), [(f"{VOLUME}.configMap.name", "is a required field")]),
    "a secret of no name": (volume(secret={}), [(f"{VOLUME}.secret.secretName", "is a required field")]),
    "a service account of no name": (
        volume(serviceAccount={}),
        [(f"{VOLUME}.serviceAccount.serviceAccountName", "is a required field")],
    ),
    "an empty disk of no size": (
        volume(emptyDisk={"capacity": "0"}),
        [(f"{VOLUME}.emptyDisk.capacity", "must be greater than 0")],
    ),
    "a host disk of no path": (
        volume(hostDisk={"path": "", "type": "Disk"}),
        [(f"{VOLUME}.hostDisk.path", "is required for hostDisk volume")],
    ),
    "a host disk to make of no size": (
        volume(hostDisk={"path": "/a", "type": "DiskOrCreate"}),
        [(f"{VOLUME}.hostDisk.capacity", "is required with")],
    ),
    "a host disk that is there, with a size": (
        volume(hostDisk={"path": "/a", "type": "Disk", "capacity": "1Gi"}),
        [(f"{VOLUME}.hostDisk.capacity", "is allowed to pass only with")],
    ),
    "a host disk of no sort": (
        volume(hostDisk={"path": "/a", "type": "Tape"}),
        [(f"{VOLUME}.hostDisk.type", "has invalid value 'Tape', allowed are 'Disk' or 'DiskOrCreate")],
    ),
    "sysprep from nothing": (
        volume(sysprep={}),
        [(f"{VOLUME}.sysprep", "must have exactly one of secret and configMap")],
    ),
    "two memory dumps": (
        guest(volumes=[{"name": name, "memoryDump": {"claimName": "c"}} for name in "ab"]),
        [("spec.volumes", "must have max one memory dump volume set")],
    ),
    "cloud-init of nothing": (
        volume(cloudInitNoCloud={}),
        [(INIT, "must have at least one userdatasource or one networkdatasource set")],
    ),
    "user data twice": (
        volume(cloudInitNoCloud={"userData": "a", "userDataBase64": "YQ=="}),
        [(f"{INIT}.userData", "must have only one userdatasource set")],
    ),
    "user data too long": (
        volume(cloudInitNoCloud={"userData": "a" * 2049}),
        [(f"{INIT}.userData", "userdata exceeds 2048 byte limit. Should use UserDataSecretRef for larger data")],
    ),
    "user data in bad base64": (
        volume(cloudInitNoCloud={"userDataBase64": "#"}),
        [(f"{INIT}.userDataBase64", "is not a valid base64 value.")],
    ),
    "user data in no base64 of this world": (
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


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_guest, tree, told)
