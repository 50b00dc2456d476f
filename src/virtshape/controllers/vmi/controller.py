"""
Instance controller: schedule instances, run them with the launcher, and update their status.

The node is written to the instance before the guest starts, so that a guest never runs twice.
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from virtshape.api.kubevirt.conditions import find_condition
from virtshape.api.kubevirt.instance import VirtualMachineInstance, is_final
from virtshape.api.kubevirt.status import VirtualMachineInstanceStatus
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.api.times import Clock, format_time
from virtshape.api.wellknown import NODE_LABEL, OBSERVED_VERSIONS, VMI_FINALIZER
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.controllers.runtime.loop import DONE, Name, Result
from virtshape.controllers.vm.newvmi import name_start_revision_of
from virtshape.controllers.vm.runstrategy import is_being_deleted
from virtshape.controllers.vmi.gueststatus import GuestStatus
from virtshape.controllers.vmi.phases import (
    NOT_RESPONDING,
    RESTART_CONDITION,
    SCHEDULED_CONDITION,
    phase_of,
    set_failure,
    set_guest_status,
    set_phase,
)
from virtshape.controllers.vmi.scheduling import Placement
from virtshape.controllers.vmi.volumehotplugstatus import list_volume_events

_WAITS: Final = frozenset({"PullingImage", "DataVolumeNotReady", "ClaimNotBound", "ClaimBeingCopied"})
"""Reasons for waiting that do not count as errors."""
_REPORTED_CONDITIONS: Final = {"Paused": "Paused", "Synchronized": "SyncFailed", RESTART_CONDITION: "LiveChangeFailed"}
_BEFORE_RUNNING: Final = frozenset({"", "Pending", "Scheduling", "Scheduled"})
UNSCHEDULABLE: Final = "Unschedulable"
LAUNCHER_STARTING: Final = "LauncherStarting"


class VmiReconciler:
    """Reconciles instances through a client; `placement` selects nodes and launchers."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        recorder: EventRecorder,
        clock: Clock,
        placement: Placement,
        wake: Callable[[Name], None],
    ) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._clock = clock
        self._placement = placement
        self._wake = wake
        self._replaced: dict[Name, set[str | None]] = {}
        """Resource versions that this controller has replaced, by instance, until the cache contains a newer one."""

    async def reconcile(self, name: Name) -> Result:
        """Reconcile one instance."""
        vmi = self._cache.find(VirtualMachineInstance, name.name, name.namespace)
        if vmi is None:
            self._release(name)
            self._replaced.pop(name, None)
            return DONE
        if vmi.metadata.resource_version in self._replaced.get(name, ()):
            return DONE  # the cache lacks our own write, whose event will requeue the instance
        self._replaced.pop(name, None)
        if is_being_deleted(vmi):
            return await self._finish(name, vmi)
        if is_final(vmi):
            self._release(name)
            return DONE
        if VMI_FINALIZER not in (vmi.metadata.finalizers or ()):
            vmi = await self._write(vmi, replace(vmi, metadata=mark_observed(vmi.metadata)))
        if phase_of(vmi) in ("", "Pending", "Scheduling"):
            placed = await self._place(name, vmi)
            if placed is None:
                return DONE
            vmi = placed
        return await self._run(name, vmi)

    async def report(self, name: Name, error: Exception) -> None:
        """Report in the conditions of an instance, and as an event, that its guest could not be started."""
        vmi = self._cache.find(VirtualMachineInstance, name.name, name.namespace)
        if vmi is None or is_being_deleted(vmi) or phase_of(vmi) not in _BEFORE_RUNNING:
            return
        reason = error.reason if isinstance(error, StatusError) else "InternalError"
        message = str(error) or type(error).__name__
        self._recorder.event(vmi, reason, message, warning=True)
        await self._update(vmi, set_failure(vmi, reason, message, self._now()))

    async def _place(self, name: Name, vmi: VirtualMachineInstance) -> VirtualMachineInstance | None:
        """Schedule the instance; return None and update its status if no node can run it."""
        result = self._placement.place(name, vmi)
        if result.is_starting:
            reason = LAUNCHER_STARTING
            await self._update(vmi, set_phase(vmi, "Scheduling", self._now(), reason=reason, message=result.message))
            return None
        if result.message:
            self._report_unschedulable(vmi, result.message)
            reason = UNSCHEDULABLE
            await self._update(vmi, set_phase(vmi, "Scheduling", self._now(), reason=reason, message=result.message))
            return None
        if not result.node:
            return vmi
        self._recorder.event(vmi, "Scheduled", f"assigned to node {result.node}")
        return await self._update(vmi, set_phase(vmi, "Scheduled", self._now(), node=result.node))

    def _report_unschedulable(self, vmi: VirtualMachineInstance, message: str) -> None:
        reported = find_condition(vmi.status.conditions if vmi.status else None, SCHEDULED_CONDITION)
        if reported is None or reported.message != message:
            self._recorder.event(vmi, "FailedScheduling", message, warning=True)

    async def _run(self, name: Name, vmi: VirtualMachineInstance) -> Result:
        """Run the guest on its node and update the status of the instance."""
        launcher = self._placement.find_launcher(name, vmi)
        if launcher is None:
            if self._placement.is_lost(vmi):
                node = (vmi.status.node_name if vmi.status else None) or ""
                message = f"node {node} no longer exists"
                await self._update(vmi, set_phase(vmi, "Failed", self._now(), reason="NodeLost", message=message))
            return DONE
        guest = await launcher.launch(vmi)
        if guest.state == "placing" and guest.message:
            self._report_unschedulable(vmi, guest.message)
        before = vmi
        vmi = await self._update(vmi, set_guest_status(vmi, guest, self._now()))
        if phase_of(vmi) != phase_of(before):
            self._report_phase(vmi, guest)
        elif vmi is not before:
            self._report_changes(before, vmi)
        for event in list_volume_events(before, vmi):
            self._recorder.event(vmi, event.reason, event.message, warning=event.warning)
        if guest.state == "refused":
            self._release(name)
        is_expected = guest.state in ("placing", "waiting", "starting") or not guest.is_settled
        return Result(after=self._placement.recheck_seconds) if is_expected else DONE

    def _report_changes(self, before: VirtualMachineInstance, vmi: VirtualMachineInstance) -> None:
        self._report_responsiveness(before, vmi)
        for name, reason in _REPORTED_CONDITIONS.items():
            old = find_condition(before.status.conditions if before.status else None, name)
            new = find_condition(vmi.status.conditions if vmi.status else None, name)
            if new is not None and (old is None or old.reason != new.reason):
                is_fine = name == "Paused" or new.reason in _WAITS
                reported = (new.reason or reason) if name == "Synchronized" else reason
                self._recorder.event(vmi, reported, new.message or reason, warning=not is_fine)
            elif old is not None and new is None and name == "Paused":
                self._recorder.event(vmi, "Unpaused", "the guest was resumed")

    def _report_responsiveness(self, before: VirtualMachineInstance, vmi: VirtualMachineInstance) -> None:
        """Record an event if the guest has stopped responding, or responds again."""
        old = find_condition(before.status.conditions if before.status else None, "Ready")
        new = find_condition(vmi.status.conditions if vmi.status else None, "Ready")
        was, is_now = (one is not None and one.reason == NOT_RESPONDING for one in (old, new))
        if is_now and not was and new is not None:
            self._recorder.event(vmi, "NotResponding", new.message or "the guest does not respond", warning=True)
        elif was and not is_now:
            self._recorder.event(vmi, "Responding", "the guest responds again")

    def _report_phase(self, vmi: VirtualMachineInstance, guest: GuestStatus) -> None:
        match phase_of(vmi):
            case "Running":
                self._recorder.event(vmi, "Started", "VirtualMachineInstance started.")
            case "Failed":
                self._recorder.event(vmi, "Failed", guest.message or "the guest has failed", warning=True)
            case "Succeeded":
                self._recorder.event(vmi, "Stopped", guest.message or "the guest has shut down")

    async def _finish(self, name: Name, vmi: VirtualMachineInstance) -> Result:
        """Stop the guest of an instance that is being deleted, then remove the finalizer."""
        metadata = vmi.metadata
        if VMI_FINALIZER not in (metadata.finalizers or ()):
            return DONE
        if self._placement.is_node_not_ready(vmi):
            return DONE  # the guest may still run; the launcher stops it when it is back
        launcher = self._placement.find_launcher(name, vmi)
        if launcher is not None and not await launcher.stop(vmi):
            return Result(after=self._placement.recheck_seconds)
        left = [one for one in metadata.finalizers or () if one != VMI_FINALIZER]
        await self._write(vmi, replace(vmi, metadata=replace(metadata, finalizers=left or None)))
        self._recorder.event(vmi, "Deleted", "the instance was deleted")
        self._release(name)
        return DONE

    def _now(self) -> str:
        return format_time(self._clock())

    async def _update(
        self, vmi: VirtualMachineInstance, status: VirtualMachineInstanceStatus
    ) -> VirtualMachineInstance:
        """Write a new status unless it is unchanged; return the instance."""
        status = replace(status, virtual_machine_revision_name=name_start_revision_of(vmi))
        if status == vmi.status:
            return vmi
        metadata = label_node(vmi.metadata, status.node_name)
        return await self._write(vmi, replace(vmi, metadata=metadata, status=status))  # VMIs have no status subresource

    async def _write(self, vmi: VirtualMachineInstance, wanted: VirtualMachineInstance) -> VirtualMachineInstance:
        """Write and return an instance; from now on, ignore its previous version in the cache."""
        written = await self._client.update(wanted)
        before, after = (one.metadata for one in (vmi, written))
        if after.resource_version != before.resource_version:
            name = Name(before.namespace or "", before.name or "")
            self._replaced.setdefault(name, set()).add(before.resource_version)
        return written

    def _release(self, name: Name) -> None:
        """Release the instance's resources and requeue instances that are waiting for a node."""
        for waiting in self._placement.release(name):
            self._wake(waiting)


def mark_observed(metadata: ObjectMeta) -> ObjectMeta:
    """Return the metadata with the controller's finalizer and the observed API versions."""
    return replace(
        metadata,
        annotations={**(metadata.annotations or {}), **OBSERVED_VERSIONS},
        finalizers=[*(metadata.finalizers or ()), VMI_FINALIZER],
    )


def label_node(metadata: ObjectMeta, node: str | None) -> ObjectMeta:
    """Return the metadata with the node name as a label."""
    if not node or (metadata.labels or {}).get(NODE_LABEL) == node:
        return metadata
    return replace(metadata, labels={**(metadata.labels or {}), NODE_LABEL: node})
