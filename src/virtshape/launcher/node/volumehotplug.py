"""
Grant a running guest access to another volume, and attach or detach its disk.

The guest's launch request always lists all its volumes, so that access to them can be revoked when the guest is
removed.
"""

import asyncio
import time
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from virtshape.api.codec import encode
from virtshape.api.kubevirt.devices import Disk
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import Volume
from virtshape.launcher.controlprotocol import Answer, AttachVolume, DetachVolume
from virtshape.launcher.launchrequest import LaunchRequest
from virtshape.launcher.node.access import grant_access, revoke_access
from virtshape.launcher.node.confinement import ConfinementError
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.guests import POLL_SECONDS, Guests
from virtshape.launcher.node.gueststate import find_qemu, is_alive
from virtshape.launcher.node.reveal import hide, reveal

REPORT_SECONDS: Final = 10.0


class VolumeHotplug:
    """Attaches volumes to the guests in one data directory, and detaches them."""

    def __init__(self, guests: Guests, directories: GuestDirectories) -> None:
        self._guests = guests
        self._directories = directories

    def list_volumes(self, uid: str) -> set[str]:
        """Return the names of the volumes that the guest has access to."""
        request = self._guests.find_launch_request(uid)
        return {volume.name for volume in (request.vmi.spec.volumes if request is not None else None) or ()}

    async def attach(self, uid: str, volume: Volume, disk: Disk, path: str) -> str:
        """Attach a volume; return an error message, or an empty string on success."""
        request = self._guests.find_launch_request(uid)
        if request is None:
            return "the guest's launch request is missing"
        self._write(uid, _add(request, volume, disk, path))
        try:
            await asyncio.to_thread(self._grant, uid, volume, path)
        except (OSError, ConfinementError) as error:
            failure = f"the running guest cannot be given access to {path}: {error}"
        else:
            failure = await self._request_disk(uid, volume.name)
        if failure:
            await self.release(uid, volume.name)
        return failure

    async def _request_disk(self, uid: str, name: str) -> str:
        """Attach the disk and wait until the guest's report lists it; return an error message, or an empty string."""
        failure = (await self._guests.ask(uid, AttachVolume(name=name))).error
        deadline = time.monotonic() + REPORT_SECONDS
        while not failure and not self._is_reported(uid, name):
            if time.monotonic() > deadline:
                return f"the guest did not report the disk within {REPORT_SECONDS:g} seconds"
            await asyncio.sleep(POLL_SECONDS)
        return failure

    def _is_reported(self, uid: str, name: str) -> bool:
        report = self._guests.find(uid)
        return report is not None and any(volume.name == name for volume in report.volumes)

    async def detach(self, uid: str, name: str) -> Answer:
        """Ask the guest to release a volume; the guest's report lists the volume until it is released."""
        return await self._guests.ask(uid, DetachVolume(name=name))

    async def release(self, uid: str, name: str) -> None:
        """Revoke the guest's access to a volume that is no longer attached."""
        request = self._guests.find_launch_request(uid)
        if request is None:
            return
        volume = next((one for one in request.vmi.spec.volumes or () if one.name == name), None)
        path = request.mounts.get(name)
        self._write(uid, _remove(request, name))
        if volume is not None and path is not None:
            await asyncio.to_thread(self._revoke, uid, volume, path)

    def _grant(self, uid: str, volume: Volume, path: str) -> None:
        account, data = self._directories.get_account(uid), self._directories.data
        request = self._build_partial(uid, volume, path)
        grant_access(request, data, account, self._directories.list_users() - {account.user})
        for pid in self._list_pids(uid):
            reveal(pid, Path(path), account)

    def _revoke(self, uid: str, volume: Volume, path: str) -> None:
        account = self._directories.get_account(uid)
        for pid in self._list_pids(uid):
            hide(pid, Path(path), account)
        revoke_access(self._build_partial(uid, volume, path), self._directories.data, account)

    def _list_pids(self, uid: str) -> list[int]:
        """Return the pids of the launcher and QEMU, whose namespaces differ if the launcher was replaced."""
        report, layout = self._guests.find(uid), self._directories.get_layout(uid)
        # The guest's user can write the report, so the launcher's pid is checked too.
        launcher = report.launcher_pid if report is not None else None
        return [pid for pid in (launcher, find_qemu(layout)) if pid is not None and is_alive(pid, layout)]

    def _build_partial(self, uid: str, volume: Volume, path: str) -> LaunchRequest:
        """Return a launch request with this volume only."""
        request = self._guests.find_launch_request(uid)
        assert request is not None  # noqa: S101 - the caller has read it
        vmi = replace(request.vmi, spec=replace(request.vmi.spec, volumes=[volume]))
        return LaunchRequest(vmi=vmi, mounts={volume.name: path})

    def _write(self, uid: str, request: LaunchRequest) -> None:
        self._directories.write(self._directories.get_layout(uid).launch_request, encode(request))


def _add(request: LaunchRequest, volume: Volume, disk: Disk, path: str) -> LaunchRequest:
    left = _remove(request, volume.name)
    devices = left.vmi.spec.domain.devices
    vmi = _put(left.vmi, [*(left.vmi.spec.volumes or ()), volume], [*(devices.disks or ()), disk])
    return replace(left, vmi=vmi, mounts={**left.mounts, volume.name: path})


def _remove(request: LaunchRequest, name: str) -> LaunchRequest:
    spec = request.vmi.spec
    volumes = [one for one in spec.volumes or () if one.name != name]
    disks = [one for one in spec.domain.devices.disks or () if one.name != name]
    mounts = {key: path for key, path in request.mounts.items() if key != name}
    return replace(request, vmi=_put(request.vmi, volumes, disks), mounts=mounts)


def _put(vmi: VirtualMachineInstance, volumes: list[Volume], disks: list[Disk]) -> VirtualMachineInstance:
    domain = replace(vmi.spec.domain, devices=replace(vmi.spec.domain.devices, disks=disks))
    return replace(vmi, spec=replace(vmi.spec, volumes=volumes, domain=domain))
