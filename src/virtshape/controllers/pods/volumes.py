"""
Build the pod volumes for an instance's volumes, mounted where the launcher expects them.

The functions are pure. Writes to shared images go to the pod's own directory and are lost with the pod.
"""

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from virtshape.api.core.claimspec import PersistentVolumeClaimVolumeSource
from virtshape.api.core.container import VolumeDevice, VolumeMount
from virtshape.api.core.podshared import LocalObjectReference
from virtshape.api.core.volumesource import (
    ConfigMapVolumeSource,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    HostPathVolumeSource,
    ImageVolumeSource,
    ProjectedVolumeSource,
    SecretProjection,
    SecretVolumeSource,
    Volume,
    VolumeProjection,
)
from virtshape.api.kubevirt import volume as guest
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.launcherpod import (
    CREDENTIALS_SUFFIX,
    KERNEL,
    ROOT,
    STATE,
    find_device,
    find_directory,
    is_demo_image,
)
from virtshape.controllers.pods.persistentstateclaim import has_state, name_state_claim
from virtshape.controllers.storage.claimusage import find_claim_name

HUGEPAGES_DIRECTORY: Final = "/dev/hugepages"
_OWN: Final = "virtshape-"
_TEMPORARY: Final = "/tmp"  # noqa: S108 - inside the container


class PodVolume(NamedTuple):
    """A volume of the pod and its mount or device in the container."""

    volume: Volume
    mount: VolumeMount | None = None
    device: VolumeDevice | None = None


def list_pod_volumes(vmi: VirtualMachineInstance, block_claims: Collection[str] = ()) -> list[PodVolume]:
    """Return all volumes of the pod; `block_claims` are the claims in block mode."""
    spec = vmi.spec
    found = [
        *_list_working_directories(spec),
        *(one for volume in spec.volumes or () for one in _list_instance_volume(volume, block_claims)),
        *_list_credentials(spec),
        *_list_kernel(spec),
        *_list_state(vmi),
    ]
    return list({one.volume.name: one for one in found}.values())


def list_pull_secrets(spec: VirtualMachineInstanceSpec) -> list[LocalObjectReference]:
    """Return the pull secrets of container disks and the kernel image."""
    names = [volume.container_disk.image_pull_secret for volume in spec.volumes or () if volume.container_disk]
    container = _find_kernel(spec)
    names += [container.image_pull_secret] if container is not None else []
    return [LocalObjectReference(name=name) for name in dict.fromkeys(names) if name]


def _list_working_directories(spec: VirtualMachineInstanceSpec) -> Iterator[PodVolume]:
    yield _mount(Volume(f"{_OWN}run", empty_dir=EmptyDirVolumeSource()), ROOT)
    yield _mount(Volume(f"{_OWN}tmp", empty_dir=EmptyDirVolumeSource()), _TEMPORARY)
    memory = spec.domain.memory
    if memory is not None and memory.hugepages is not None:
        pages = EmptyDirVolumeSource(medium=f"HugePages-{memory.hugepages.page_size}")
        yield _mount(Volume(f"{_OWN}hugepages", empty_dir=pages), HUGEPAGES_DIRECTORY)


def _list_instance_volume(volume: guest.Volume, block_claims: Collection[str]) -> Iterator[PodVolume]:
    name, claim = volume.name, find_claim_name(volume)
    if claim is not None:
        yield _build_claim(volume, claim, is_block=claim in block_claims)
    elif volume.host_disk is not None:
        directory = volume.host_disk.path.rpartition("/")[0] or "/"
        kind = "DirectoryOrCreate" if volume.host_disk.type == "DiskOrCreate" else "Directory"
        yield _mount(Volume(name, host_path=HostPathVolumeSource(directory, kind)), directory)
    else:
        source = _find_files(volume)
        if source is not None:
            yield _mount(source, find_directory(name), read_only=True)


def _build_claim(volume: guest.Volume, claim: str, *, is_block: bool) -> PodVolume:
    shared = volume.persistent_volume_claim
    read_only = volume.ephemeral is not None or bool(shared is not None and shared.read_only)
    source = Volume(
        volume.name, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim, read_only=read_only or None)
    )
    if is_block:
        return PodVolume(source, device=VolumeDevice(volume.name, find_device(volume.name)))
    return _mount(source, find_directory(volume.name), read_only=read_only)


def _find_files(volume: guest.Volume) -> Volume | None:
    """Return the pod volume with the files of an instance volume; None if the volume needs no files."""
    name = volume.name
    if volume.container_disk is not None:
        disk = volume.container_disk
        if is_demo_image(disk.image):
            return None  # the launcher's image contains the demo disk
        return Volume(name, image=ImageVolumeSource(disk.image_pull_policy, disk.image))
    if volume.config_map is not None:
        return Volume(
            name, config_map=ConfigMapVolumeSource(volume.config_map.name, optional=volume.config_map.optional)
        )
    if volume.secret is not None:
        return _secret(name, volume.secret.secret_name, optional=volume.secret.optional)
    if volume.sysprep is not None and volume.sysprep.config_map is not None:
        return Volume(name, config_map=ConfigMapVolumeSource(volume.sysprep.config_map.name))
    if volume.sysprep is not None and volume.sysprep.secret is not None:
        return _secret(name, volume.sysprep.secret.name)
    if volume.downward_api is not None:
        return Volume(name, downward_api=DownwardAPIVolumeSource(items=volume.downward_api.fields))
    cloud_init = volume.cloud_init_no_cloud or volume.cloud_init_config_drive
    return _find_documents(name, cloud_init) if cloud_init is not None else None


def _find_documents(
    name: str, source: guest.CloudInitNoCloudSource | guest.CloudInitConfigDriveSource
) -> Volume | None:
    """
    Return the pod volume with the secrets of cloud-init, or None if there are none.

    If two secrets have the same key, the value from the secret with the user data is used.
    """
    references = (source.network_data_secret_ref, source.secret_ref)
    names = list(dict.fromkeys(one.name for one in references if one is not None and one.name))
    if len(names) < 2:
        return _secret(name, names[0]) if names else None
    projections = [VolumeProjection(secret=SecretProjection(name=one)) for one in names]
    return Volume(name, projected=ProjectedVolumeSource(sources=projections))


def _list_credentials(spec: VirtualMachineInstanceSpec) -> Iterator[PodVolume]:
    sources = [one.ssh_public_key or one.user_password for one in spec.access_credentials or ()]
    secrets = [source.source.secret for source in sources if source is not None]
    for number, name in enumerate(dict.fromkeys(secret.secret_name for secret in secrets if secret is not None)):
        volume = _secret(f"{_OWN}credential-{number}", name)
        yield _mount(volume, find_directory(f"{name}{CREDENTIALS_SUFFIX}"), read_only=True)


def _list_kernel(spec: VirtualMachineInstanceSpec) -> Iterator[PodVolume]:
    container = _find_kernel(spec)
    if container is not None:
        image = ImageVolumeSource(container.image_pull_policy, container.image)
        yield _mount(Volume(f"{_OWN}kernel", image=image), find_directory(KERNEL), read_only=True)


def _list_state(vmi: VirtualMachineInstance) -> Iterator[PodVolume]:
    if has_state(vmi.spec):
        claim = PersistentVolumeClaimVolumeSource(name_state_claim(vmi))
        yield _mount(Volume(f"{_OWN}state", persistent_volume_claim=claim), STATE)


def _find_kernel(spec: VirtualMachineInstanceSpec) -> guest.ContainerDiskSource | None:
    firmware = spec.domain.firmware
    boot = firmware.kernel_boot if firmware is not None else None
    container = boot.container if boot is not None else None
    if container is None:
        return None
    return guest.ContainerDiskSource(container.image, container.image_pull_policy, container.image_pull_secret)


def _secret(name: str, secret: str | None, *, optional: bool | None = None) -> Volume:
    return Volume(name, secret=SecretVolumeSource(secret_name=secret, optional=optional))


def _mount(volume: Volume, path: str, *, read_only: bool = False) -> PodVolume:
    return PodVolume(volume, VolumeMount(volume.name, path, read_only=read_only or None))
