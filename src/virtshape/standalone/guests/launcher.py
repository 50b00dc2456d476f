"""Launcher of this machine: runs each instance as a QEMU guest in its own process."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from virtshape.api.core.node import Node
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.wellknown import DEFAULT_GRACE_SECONDS
from virtshape.controllers.storage.files import NotReadyError
from virtshape.controllers.storage.mounts import Mount
from virtshape.controllers.vm.status import measure
from virtshape.controllers.vmi.gueststatus import GuestStatus
from virtshape.controllers.vmi.launcher import Wake
from virtshape.controllers.vmi.phases import phase_of
from virtshape.controllers.vmi.volumehotplugstatus import VolumeProblem
from virtshape.daemon.guestreports import read_report
from virtshape.launcher.controlprotocol import SetMemory, SetVcpus
from virtshape.launcher.host import Host
from virtshape.launcher.node.account import parse_users
from virtshape.launcher.node.directories import DirectoryError, GuestDirectories
from virtshape.launcher.node.guests import Guests
from virtshape.launcher.node.taps import TapError
from virtshape.launcher.node.volumehotplug import VolumeHotplug
from virtshape.launcher.report import Report
from virtshape.standalone import config
from virtshape.standalone.config import DEFAULT_RANGE, ConfigurationError, read_configuration
from virtshape.standalone.guests.files import write_mounts
from virtshape.standalone.guests.hostdisks import find_host_disks
from virtshape.standalone.guests.node import choose_cpus, count_cpus, describe_node
from virtshape.standalone.guests.persistentstate import PersistentStates
from virtshape.standalone.guests.volumehotplug import VolumeSync


class Mounts(Protocol):
    """Finds the sources of an instance's volumes; raises NotReadyError if one is missing."""

    async def gather(self, vmi: VirtualMachineInstance) -> Mapping[str, Mount]:
        """Return the sources of all volumes, by volume name."""

    async def get_claim_path(self, vmi: VirtualMachineInstance, volume: str) -> str:
        """Return the path of one volume's claim."""


FindVm = Callable[[str, str], str | None]
"""A function that returns the uid of a VM, given its namespace and name, or None if there is no such VM."""


class QemuLauncher:
    """Runs instances on this machine, which is the node named `node`."""

    def __init__(
        self, guests: Guests, directories: GuestDirectories, host: Host, node: str, mounts: Mounts, find_vm: FindVm
    ) -> None:
        self._guests = guests
        self._directories = directories
        self._host = host
        self._node = node
        self._mounts = mounts
        self._volumes = VolumeSync(VolumeHotplug(guests, directories), mounts.get_claim_path)
        self._named: dict[str, tuple[str, str]] = {}
        self._sizes: dict[str, tuple[int, int]] = {}
        self._resize_errors: dict[str, str] = {}
        self._cpus: dict[str, tuple[int, ...]] = {}
        self._states = PersistentStates(directories.data / "state", self._list_states, find_vm)
        self._wake: Wake = lambda _namespace, _name: None

    def describe_node(self, now: str) -> Node:
        """Return the Node object of this machine."""
        return describe_node(self._host, self._node, now)

    def observe(self, wake: Wake) -> None:
        """Call `wake` with the namespace and name of each instance whose guest reports a change."""
        self._wake = wake

    def handle_report(self, uid: str) -> None:
        """Wake the controller of the instance whose guest has sent a report."""
        if uid in self._named:
            self._wake(*self._named[uid])

    async def launch(self, vmi: VirtualMachineInstance) -> GuestStatus:
        """Start the guest unless it runs or has ended, apply its instance's size and volumes, and return its status."""
        metadata = vmi.metadata
        uid = metadata.uid or ""
        self._named[uid] = metadata.namespace or "", metadata.name or ""
        report = self._guests.find(uid)
        if report is None:
            if phase_of(vmi) == "Running":
                return GuestStatus(
                    "failed", "the guest is lost: its processes and files are gone from this machine", "GuestLost"
                )
            try:
                await self._start(uid, vmi)
            except NotReadyError as error:
                return GuestStatus("waiting", error.message, error.reason)
            report = self._guests.find(uid) or Report()
        problems: Mapping[str, VolumeProblem] = {}
        if report.state in ("running", "paused"):
            await self._resize(uid, vmi.spec)
            problems = await self._volumes.sync(uid, vmi, report)
            report = self._guests.find(uid) or report
        guest = read_report(report, vmi, self._resize_errors.get(uid, ""), problems)
        return replace(guest, user=self._directories.get_account(uid).user)

    async def stop(self, vmi: VirtualMachineInstance) -> bool:
        """Shut the guest down within its grace period; return True once the guest is removed."""
        uid = vmi.metadata.uid or ""
        report = self._guests.find(uid)
        if report is not None and not report.final:
            grace = vmi.spec.termination_grace_period_seconds
            await self._guests.stop(uid, DEFAULT_GRACE_SECONDS if grace is None else grace)
            return False
        await self._guests.remove(uid)
        self._forget(uid)
        self._states.drop(uid)
        return True

    def forget(self, uid: str) -> None:
        """Remove the persistent state of a deleted VM once no guest uses it."""
        self._states.drop(uid)

    async def keep_only(self, uids: Collection[str]) -> None:
        """Remove all guests and persistent state, except those of instances and VMs with these uids."""
        for uid in self._directories.list_guests():
            if uid not in uids:
                await self._guests.remove(uid)
        self._states.keep_only(uids)

    async def _start(self, uid: str, vmi: VirtualMachineInstance) -> None:
        mounts = await self._mounts.gather(vmi)
        host_disks = await asyncio.to_thread(find_host_disks, vmi, self._directories.data)
        bridges = await asyncio.to_thread(find_bridges, vmi, self._directories.data)
        cpus = self._assign_cpus(uid, vmi.spec)
        isolated, users = await asyncio.to_thread(read_guest_settings, self._directories.data)
        try:
            layout = self._directories.make(uid, users)
        except DirectoryError as error:
            raise NotReadyError("NoFreeUsers", str(error)) from error
        try:
            written = await asyncio.to_thread(write_mounts, layout.directory / "mounts", {**mounts, **host_disks})
            state = self._states.ensure(vmi)
            await self._guests.start(
                uid,
                vmi,
                written,
                assigned_cpus=cpus,
                state_directory=state,
                bridges=bridges,
                isolated=isolated,
            )
        except TapError as error:
            raise NotReadyError("NetworkNotReady", str(error)) from error
        except (OSError, ValueError) as error:
            raise NotReadyError("VolumesNotWritten", f"preparing the volumes failed: {error}") from error

    def _list_states(self) -> list[str]:
        """Return the persistent state directories of existing guests."""
        requests = [self._guests.find_launch_request(uid) for uid in self._directories.list_guests()]
        return [request.state_directory for request in requests if request is not None and request.state_directory]

    def _assign_cpus(self, uid: str, spec: VirtualMachineInstanceSpec) -> tuple[int, ...]:
        count = count_cpus(spec)
        if not count:
            return ()
        taken = [cpu for other, cpus in self._list_cpus().items() if other != uid for cpu in cpus]
        chosen = choose_cpus(count, self._host.cpus, taken)
        if chosen is None:
            raise NotReadyError(
                "NoFreeCPUs",
                f"not enough free CPUs: {count} dedicated CPUs are requested, and other guests use the rest",
            )
        self._cpus[uid] = chosen
        return chosen

    def _list_cpus(self) -> dict[str, tuple[int, ...]]:
        """Return the dedicated CPUs of guests, including those started before this process."""
        for uid in self._directories.list_guests():
            if uid not in self._cpus:
                request = self._guests.find_launch_request(uid)
                self._cpus[uid] = request.assigned_cpus if request is not None else ()
        return {uid: cpus for uid, cpus in self._cpus.items() if not self._has_ended(uid)}

    def _has_ended(self, uid: str) -> bool:
        report = self._guests.find(uid)
        return report is not None and report.final

    async def _resize(self, uid: str, spec: VirtualMachineInstanceSpec) -> None:
        """Resize the guest to the size in its instance's spec; request each size only once."""
        wanted = _measure(spec)
        if uid not in self._sizes:
            request = self._guests.find_launch_request(uid)
            self._sizes[uid] = _measure(request.vmi.spec) if request is not None else wanted
        vcpus, memory = self._sizes[uid]
        if wanted == (vcpus, memory):
            return
        errors = []
        if wanted[0] != vcpus:
            errors.append((await self._guests.ask(uid, SetVcpus(count=wanted[0]))).error)
        if wanted[1] != memory:
            errors.append((await self._guests.ask(uid, SetMemory(size=wanted[1]))).error)
        self._sizes[uid] = wanted
        self._resize_errors[uid] = "; ".join(error for error in errors if error)

    def _forget(self, uid: str) -> None:
        self._volumes.forget(uid)
        for known in (self._named, self._sizes, self._resize_errors, self._cpus):
            known.pop(uid, None)


def _measure(spec: VirtualMachineInstanceSpec) -> tuple[int, int]:
    size = measure(spec)
    return size.vcpus or 1, size.memory.value() if size.memory is not None else 0


def read_guest_settings(directory: Path) -> tuple[bool, range]:
    """Return whether guests are isolated, and the range of their user ids."""
    try:
        guests = read_configuration(directory).guests or config.Guests()
    except ConfigurationError as error:
        raise NotReadyError("ConfigurationInvalid", str(error)) from error
    return guests.network != "open", parse_users(guests.users or DEFAULT_RANGE)


def find_bridges(vmi: VirtualMachineInstance, directory: Path) -> Mapping[str, str]:
    """Return the bridges of this machine by network name; empty for an instance that needs none."""
    if all(interface.masquerade is not None for interface in vmi.spec.domain.devices.interfaces or ()):
        return {}
    try:
        return read_configuration(directory).networks or {}
    except ConfigurationError as error:
        raise NotReadyError("ConfigurationInvalid", str(error)) from error
