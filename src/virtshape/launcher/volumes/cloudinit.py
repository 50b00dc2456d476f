"""
Build cloud-init disks: NoCloud and OpenStack config drive.

User data and network data are copied unchanged; the metadata is generated.
"""

import base64
import binascii
from pathlib import Path
from typing import Final

import msgspec

from virtshape.api.kubevirt.credentials import SSHPublicKeyAccessCredential
from virtshape.api.kubevirt.devices import Disk
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import CloudInitConfigDriveSource, CloudInitNoCloudSource
from virtshape.api.launcherpod import CREDENTIALS_SUFFIX
from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.volumes.files import read_files, write_iso
from virtshape.launcher.volumes.task import Task, UnusableVolumeError

NO_CLOUD_LABEL: Final = "cidata"
CONFIG_DRIVE_LABEL: Final = "config-2"
_INSTANCETYPE: Final = ("kubevirt.io/instancetype-name", "kubevirt.io/cluster-instancetype-name")
_FLAVOR: Final = ("kubevirt.io/flavor-name", "kubevirt.io/cluster-flavor-name")


def prepare_no_cloud(task: Task) -> Source:
    """Write a NoCloud disk; cloud-init requires a user-data file even if it is empty."""
    user_data, network_data = _find_documents(task, task.volume.cloud_init_no_cloud)
    keys = _read_keys(task, "no_cloud")
    files = {"meta-data": msgspec.json.encode(describe_no_cloud(task.vmi, keys)), "user-data": user_data or b""}
    if network_data is not None:
        files["network-config"] = network_data
    return write_iso(task, files, NO_CLOUD_LABEL)


def prepare_config_drive(task: Task) -> Source:
    """Write a config drive."""
    user_data, network_data = _find_documents(task, task.volume.cloud_init_config_drive)
    keys = _read_keys(task, "config_drive")
    latest = {"meta_data.json": msgspec.json.encode(describe_config_drive(task.vmi, keys))}
    if user_data is not None:
        latest["user_data"] = user_data
    if network_data is not None:
        latest["network_data.json"] = network_data
    return write_iso(
        task, {f"openstack/latest/{name}": content for name, content in latest.items()}, CONFIG_DRIVE_LABEL
    )


def describe_no_cloud(vmi: VirtualMachineInstance, keys: list[str]) -> JsonObject:
    """Return the NoCloud metadata; the instance-id is stable, so that first-boot modules run once."""
    metadata = vmi.metadata
    return _drop_empty(
        {
            "instance-id": f"{metadata.name}.{metadata.namespace}",
            "local-hostname": find_hostname(vmi),
            "instance-type": _find_instancetype(vmi),
            "public-keys": _number(keys),
        }
    )


def describe_config_drive(vmi: VirtualMachineInstance, keys: list[str]) -> JsonObject:
    """Return the config drive metadata, with the tags of disks and interfaces."""
    metadata = vmi.metadata
    firmware = vmi.spec.domain.firmware
    return _drop_empty(
        {
            "instance_id": f"{metadata.name}.{metadata.namespace}",
            "uuid": (firmware.uuid if firmware is not None else None) or metadata.uid,
            "hostname": find_hostname(vmi),
            "instance_type": _find_instancetype(vmi),
            "public_keys": _number(keys),
            "devices": _list_devices(vmi),
        }
    )


def find_hostname(vmi: VirtualMachineInstance) -> str:
    """Return the guest's host name: spec.hostname, or the first part of the instance's name."""
    name = vmi.spec.hostname or (vmi.metadata.name or "").partition(".")[0]
    return name[:63].rstrip("-")


def _list_devices(vmi: VirtualMachineInstance) -> list[JsonObject]:
    devices = vmi.spec.domain.devices
    nics = [{"type": "nic", "mac": nic.mac_address, "tags": [nic.tag]} for nic in devices.interfaces or () if nic.tag]
    disks = [
        {"type": "disk", "bus": _find_bus(disk), "serial": disk.serial, "tags": [disk.tag]}
        for disk in devices.disks or ()
        if disk.tag
    ]
    return [_drop_empty(device) for device in [*nics, *disks]]


def _find_bus(disk: Disk) -> str | None:
    target = disk.disk or disk.cdrom or disk.lun
    return target.bus if target is not None else None


def _find_instancetype(vmi: VirtualMachineInstance) -> str | None:
    annotations = vmi.metadata.annotations or {}
    return next((annotations[key] for key in (*_INSTANCETYPE, *_FLAVOR) if annotations.get(key)), None)


def _find_documents(
    task: Task, source: CloudInitNoCloudSource | CloudInitConfigDriveSource | None
) -> tuple[bytes | None, bytes | None]:
    """Return user data and network data, which are inline or in secrets."""
    if source is None:
        return None, None
    user_data = _read_inline(source.user_data, source.user_data_base64, "userDataBase64")
    network_data = _read_inline(source.network_data, source.network_data_base64, "networkDataBase64")
    if user_data is None and source.secret_ref is not None:
        user_data = _read_secret(task.require_mount(), "userdata", "secretRef")
    if network_data is None and source.network_data_secret_ref is not None:
        network_data = _read_secret(task.require_mount(), "networkdata", "networkDataSecretRef")
    return user_data, network_data


def _read_inline(text: str | None, encoded: str | None, member: str) -> bytes | None:
    if text:
        return text.encode()
    if not encoded:
        return None
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise UnusableVolumeError(f"invalid base64: {error}", member) from error


def _read_secret(mount: Path, key: str, member: str) -> bytes:
    """Return the value of a secret's key, which may be in lower case (`userdata`) or in camelCase (`userData`)."""
    files = read_files(mount)
    for spelling in (key, key.replace("data", "Data")):
        if spelling in files:
            return files[spelling]
    raise UnusableVolumeError(f"the secret has no key {key}", member)


def _read_keys(task: Task, way: str) -> list[str]:
    """Return the SSH keys that are propagated by this method."""
    keys: list[str] = []
    for credential in task.vmi.spec.access_credentials or ():
        wanted = credential.ssh_public_key
        if wanted is not None and getattr(wanted.propagation_method, way) is not None:
            keys += _read_secret_keys(task, wanted)
    return keys


def _read_secret_keys(task: Task, credential: SSHPublicKeyAccessCredential) -> list[str]:
    name = credential.source.secret.secret_name if credential.source.secret is not None else ""
    mount = task.mounts.get(f"{name}{CREDENTIALS_SUFFIX}")
    if mount is None:
        raise UnusableVolumeError(f"the secret {name} with SSH keys is missing")
    lines = [line.strip() for content in read_files(Path(mount)).values() for line in content.decode().splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def _number(keys: list[str]) -> dict[str, str]:
    return {str(number): key for number, key in enumerate(keys)}


def _drop_empty(tree: JsonObject) -> JsonObject:
    return {key: value for key, value in tree.items() if value}
