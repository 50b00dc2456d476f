"""
Collect the sources of an instance's volumes: paths of claims and container disks, contents of files.

The module prepares claims for the guest, but writes no files.
"""

import asyncio
from collections.abc import Iterator
from typing import Final, Protocol

from msgspec import Struct

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.kubevirt.domain import KernelBootContainer
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import ContainerDiskSource
from virtshape.api.meta import find_annotation
from virtshape.api.wellknown import CONTENT_TYPE
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.storage.claimusage import (
    ClaimLocks,
    ClaimUse,
    format_users,
    list_claim_users,
    list_claim_uses,
)
from virtshape.controllers.storage.files import FileReader, Files, IssueToken, NotReadyError
from virtshape.controllers.storage.protocol import Storage, StorageError
from virtshape.controllers.storage.volumeobjects import find_path, is_provisioned_by, read_volume
from virtshape.controllers.vmi.phases import phase_of
from virtshape.engine.claims import is_bound, is_bound_to, is_filled

Mount = str | Files
"""The source of a volume: an existing path, or file contents by name."""
KERNEL_MOUNT: Final = "kernelBoot"
"""Mount name of the kernel boot files, which have no volume; the files have the same paths as in the image."""
PULLING: Final = "PullingImage"
"""Reason that is reported while a container image is being pulled."""


class ContainerDisk(Struct, frozen=True, kw_only=True):
    """A disk, or other files, in a container image."""

    image: str
    path: str = ""
    """Path of the disk in the image; empty if the image has only one disk."""
    files: tuple[str, ...] = ()
    """Files to extract instead of a disk, with their paths in the image."""
    policy: str = ""
    """Pull policy: `Always`, `IfNotPresent` or `Never`; if empty, the default depends on the tag."""
    logins: str = ""
    """Registry credentials as a Docker config in JSON; empty for none."""


class ContainerDisks(Protocol):
    """Provides disks and other files from container images."""

    async def get(self, wanted: ContainerDisk) -> str:
        """Return the path of the files; raise NotReadyError while the image is being pulled, or if pulling failed."""


class Mounts:
    """Collects the sources of volumes through a client."""

    def __init__(
        self, client: Client, cache: Cache, storage: Storage, disks: ContainerDisks, issue_token: IssueToken
    ) -> None:
        self._cache = cache
        self._storage = storage
        self._disks = disks
        self._files = FileReader(client, issue_token)
        self._locks = ClaimLocks()

    async def gather(self, vmi: VirtualMachineInstance) -> dict[str, Mount]:
        """Return the source of each volume by volume name; raise NotReadyError if something is missing."""
        try:
            return await self._gather(vmi)
        except NotReadyError:
            self._locks.release(vmi)
            raise

    async def get_claim_path(self, vmi: VirtualMachineInstance, volume: str) -> str:
        """Return the path of one claim for a running guest; raise NotReadyError if the claim cannot be used."""
        use = next(use for use in list_claim_uses(vmi) if use.volume == volume)
        return await self._find_claim(vmi, use)

    async def _gather(self, vmi: VirtualMachineInstance) -> dict[str, Mount]:
        """Collect the sources, cheapest first: images are pulled only if nothing else is missing."""
        mounts: dict[str, Mount] = {}
        for volume in vmi.spec.volumes or ():
            files = await self._files.find_files(vmi, volume)
            if files is not None:
                mounts[volume.name] = files
        mounts |= await self._files.find_credentials(vmi)
        wanted = {name: await self._describe(vmi, source) for name, source in _list_images(vmi)}
        for use in list_claim_uses(vmi):
            mounts[use.volume] = await self._find_claim(vmi, use)
        return mounts | await self._find_images(wanted)

    async def _describe(
        self, vmi: VirtualMachineInstance, source: ContainerDiskSource | KernelBootContainer
    ) -> ContainerDisk:
        logins = b""
        if source.image_pull_secret:
            secret = await self._files.read_secret(source.image_pull_secret, _namespace(vmi))
            logins = secret.get(".dockerconfigjson", b"")
        path: str = ""
        files: tuple[str, ...] = ()
        if isinstance(source, ContainerDiskSource):
            path = source.path or ""
        else:
            files = tuple(one for one in (source.kernel_path, source.initrd_path) if one)
        return ContainerDisk(
            image=source.image,
            path=path,
            files=files,
            policy=source.image_pull_policy or "",
            logins=logins.decode(errors="replace"),
        )

    async def _find_images(self, wanted: dict[str, ContainerDisk]) -> dict[str, Mount]:
        """
        Pull images in parallel and return their paths.

        If pulling an image fails, raise this error, and not the NotReadyError for an image that is still being pulled.
        """
        found = await asyncio.gather(*(self._disks.get(one) for one in wanted.values()), return_exceptions=True)
        errors = [one for one in found if isinstance(one, BaseException)]
        errors.sort(key=lambda error: isinstance(error, NotReadyError) and error.reason == PULLING)
        for error in errors:
            raise error
        return {name: path for name, path in zip(wanted, found, strict=True) if isinstance(path, str)}

    async def _find_claim(self, vmi: VirtualMachineInstance, use: ClaimUse) -> str:
        claim = self._cache.find(PersistentVolumeClaim, use.claim, _namespace(vmi))
        if claim is None:
            raise self._explain_missing(use.claim, _namespace(vmi))
        name = (claim.spec.volume_name if claim.spec else None) or ""
        volume = self._cache.find(PersistentVolume, name)
        if volume is None or not is_bound(claim) or not is_bound_to(claim, volume):
            raise NotReadyError("ClaimNotBound", f"PersistentVolumeClaim {use.claim} is not bound yet")
        if not is_filled(claim):
            raise self._explain_missing(use.claim, _namespace(vmi))
        if claim.metadata.deletion_timestamp is not None and phase_of(vmi) != "Running":
            raise NotReadyError("ClaimBeingDeleted", f"PersistentVolumeClaim {use.claim} is being deleted")
        other = self._locks.acquire(claim, use, vmi, list_claim_users(self._cache, claim))
        if other is not None:
            modes = ", ".join((claim.spec.access_modes if claim.spec else None) or ())
            message = f"PersistentVolumeClaim {use.claim} ({modes}) is in use by {format_users([other])}"
            raise NotReadyError("ClaimInUse", message)
        if not use.read_only and self._storage.is_being_copied(name):
            raise NotReadyError("ClaimBeingCopied", f"PersistentVolumeClaim {use.claim} is being copied")
        return await self._prepare(vmi, use, claim, volume)

    def _explain_missing(self, claim: str, namespace: str) -> NotReadyError:
        volume = self._cache.find(DataVolume, claim, namespace)
        if volume is None or volume.status is None:
            return NotReadyError("ClaimNotFound", f"PersistentVolumeClaim {claim} not found or not populated")
        progress = volume.status.progress
        shown = f", {progress}" if progress and progress.endswith("%") else ""
        return NotReadyError("DataVolumeNotReady", f"DataVolume {claim} is {volume.status.phase}{shown}")

    async def _prepare(
        self, vmi: VirtualMachineInstance, use: ClaimUse, claim: PersistentVolumeClaim, volume: PersistentVolume
    ) -> str:
        path = find_path(volume)
        if path is None:
            raise NotReadyError("VolumeNotHere", f"the volume of PersistentVolumeClaim {use.claim} is not on this node")
        shared = {one.name for one in vmi.spec.domain.devices.filesystems or ()}
        is_image = use.volume not in shared and find_annotation(claim.metadata, CONTENT_TYPE) != "archive"
        if is_image and is_provisioned_by(volume, self._storage.provisioner):
            try:
                await self._storage.make_usable(read_volume(volume))
            except StorageError as error:
                raise NotReadyError("StorageFailed", str(error)) from error
        return path


def _list_images(vmi: VirtualMachineInstance) -> Iterator[tuple[str, ContainerDiskSource | KernelBootContainer]]:
    """Yield mount name and source of each container image, for disks and for a directly booted kernel."""
    for volume in vmi.spec.volumes or ():
        if volume.container_disk is not None:
            yield volume.name, volume.container_disk
    firmware = vmi.spec.domain.firmware
    boot = firmware.kernel_boot if firmware is not None else None
    if boot is not None and boot.container is not None:
        yield KERNEL_MOUNT, boot.container


def _namespace(vmi: VirtualMachineInstance) -> str:
    return vmi.metadata.namespace or ""
