"""Attach the hotpluggable volumes of an instance to its running guest, and detach volumes that were removed from it."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from virtshape.api.kubevirt.devices import Disk
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import Volume, is_hotpluggable
from virtshape.controllers.storage.files import NotReadyError
from virtshape.controllers.vmi.volumehotplugstatus import DETACHING_REASON, VolumeProblem
from virtshape.launcher.node.volumehotplug import VolumeHotplug
from virtshape.launcher.report import Report

GetClaimPath = Callable[[VirtualMachineInstance, str], Awaitable[str]]
"""A function that returns the path of a volume's claim, or raises NotReadyError if the claim cannot be used."""

ATTACH_FAILED: Final = "FailedAttachVolume"
DETACH_FAILED: Final = "FailedDetachVolume"
RETRY_SECONDS: Final = 5.0
"""Time between two requests to a guest about one volume."""


class VolumeSync:
    """Attaches and detaches volumes of running guests, as the specs of their instances require."""

    def __init__(self, hotplug: VolumeHotplug, get_claim_path: GetClaimPath) -> None:
        self._hotplug = hotplug
        self._get_claim_path = get_claim_path
        self._granted: dict[str, set[str]] = {}
        """Names of the volumes that each guest has access to."""
        self._failures: dict[tuple[str, str], tuple[float, VolumeProblem]] = {}
        """Last failure of each volume, and when to try again."""

    async def sync(self, uid: str, vmi: VirtualMachineInstance, report: Report) -> Mapping[str, VolumeProblem]:
        """Attach and detach volumes; return why volumes are not attached or detached yet, by volume name."""
        disks = {disk.name: disk for disk in vmi.spec.domain.devices.disks or ()}
        wanted = [one for one in vmi.spec.volumes or () if is_hotpluggable(one) and one.name in disks]
        granted = self._granted.get(uid)
        if granted is None:
            granted = self._granted[uid] = self._hotplug.list_volumes(uid)
        attached = {volume.name for volume in report.volumes}
        problems: dict[str, VolumeProblem] = {}
        for volume in wanted:
            if volume.name not in attached:
                problem = await self._attach(uid, vmi, volume, disks[volume.name])
                if problem is not None:
                    problems[volume.name] = problem
        for name in granted - {volume.name for volume in vmi.spec.volumes or ()}:
            if name in attached:
                problems[name] = await self._detach(uid, name)
            else:
                await self._hotplug.release(uid, name)
                granted.discard(name)
        for known in [key for key in self._failures if key[0] == uid and key[1] not in problems]:
            del self._failures[known]
        return problems

    def forget(self, uid: str) -> None:
        """Drop the state of a removed guest."""
        self._granted.pop(uid, None)
        for known in [key for key in self._failures if key[0] == uid]:
            del self._failures[known]

    async def _attach(self, uid: str, vmi: VirtualMachineInstance, volume: Volume, disk: Disk) -> VolumeProblem | None:
        try:
            path = await self._get_claim_path(vmi, volume.name)
        except NotReadyError as error:
            return VolumeProblem(error.reason, error.message)
        known = self._find_recent(uid, volume.name)
        if known is not None:
            return known
        failure = await self._hotplug.attach(uid, volume, disk, path)
        if not failure:
            self._granted[uid].add(volume.name)
            return None
        message = f"Attaching volume {volume.name} failed: {failure}"
        return self._remember(uid, volume.name, VolumeProblem(ATTACH_FAILED, message, is_on_node=True))

    async def _detach(self, uid: str, name: str) -> VolumeProblem:
        """
        Ask the guest to release the volume; return why the volume is still attached.

        The request is repeated from time to time, because a booting guest ignores it.
        """
        known = self._find_recent(uid, name)
        if known is not None:
            return known
        answer = await self._hotplug.detach(uid, name)
        problem = VolumeProblem(DETACHING_REASON, f"Waiting for the guest to release volume {name}")
        if answer.error:
            problem = VolumeProblem(DETACH_FAILED, f"Detaching volume {name} failed: {answer.error}")
        return self._remember(uid, name, problem)

    def _find_recent(self, uid: str, name: str) -> VolumeProblem | None:
        retry_at, problem = self._failures.get((uid, name), (0.0, None))
        return problem if time.monotonic() < retry_at else None

    def _remember(self, uid: str, name: str, problem: VolumeProblem) -> VolumeProblem:
        self._failures[uid, name] = time.monotonic() + RETRY_SECONDS, problem
        return problem
