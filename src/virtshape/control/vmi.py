"""
The instance controller: gives instances a node, has the launcher run them there, and says how far they are.

Level-based. An instance's node is written before anything runs on it, so that nothing runs in two places.
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from virtshape.api.core.node import Node
from virtshape.api.kubevirt.configuration import KubeVirt, KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.status import VirtualMachineInstanceStatus
from virtshape.api.meta import ObjectMeta
from virtshape.client.protocol import Client
from virtshape.control.cache import Cache
from virtshape.control.clock import Clock, format_time
from virtshape.control.conditions import find_condition
from virtshape.control.events import Recorder
from virtshape.control.fit import Ledger, check_fit, explain_lacks, measure_demand
from virtshape.control.guest import Guest, GuestState
from virtshape.control.instances import INSTANCE_FINALIZER, name_start_revision_of
from virtshape.control.launcher import SCHEDULABLE_LABEL, Launcher
from virtshape.control.loop import DONE, Name, Result
from virtshape.control.phases import MISFIT_CONDITION, SCHEDULED_CONDITION, Phase, Progress, advance, phase_of
from virtshape.control.runstrategy import is_final, is_going

_WAITS: Final = frozenset({"PullingImage", "DataVolumeNotReady", "ClaimNotBound", "ClaimBeingCopied"})
"""What a guest may wait for without anything being wrong."""
_TOLD_CONDITIONS: Final = {"Paused": "Paused", "Synchronized": "SyncFailed", MISFIT_CONDITION: "LiveChangeFailed"}
UNSCHEDULABLE: Final = "Unschedulable"
LOOK_AGAIN_SECONDS: Final = 1.0
_PHASES: Final[dict[GuestState, Phase]] = {
    "waiting": "Scheduled",
    "refused": "Scheduled",
    "starting": "Scheduled",
    "running": "Running",
    "paused": "Running",
    "succeeded": "Succeeded",
    "failed": "Failed",
}


class VmiReconciler:
    """Reconciles instances over a client; `launchers` run guests on the nodes they are named after."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        recorder: Recorder,
        clock: Clock,
        launchers: dict[str, Launcher],
        wake: Callable[[Name], None],
        absence: str = "",
    ) -> None:
        """`absence` says why there is no node where there is none."""
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._clock = clock
        self._launchers = launchers
        self._wake = wake
        self._absence = absence
        self._ledger: Ledger | None = None
        self._unplaced: set[Name] = set()

    async def reconcile(self, name: Name) -> Result:
        """Take the instance of this name as far as it can go now."""
        vmi = self._cache.find(VirtualMachineInstance, name.name, name.namespace)
        if vmi is None or vmi.metadata is None:
            self._release(name)
            return DONE
        if is_going(vmi):
            return await self._finish(name, vmi)
        if is_final(vmi):
            self._release(name)
            return DONE
        if INSTANCE_FINALIZER not in (vmi.metadata.finalizers or ()):
            finalizers = [*(vmi.metadata.finalizers or ()), INSTANCE_FINALIZER]
            vmi = await self._client.update(replace(vmi, metadata=replace(vmi.metadata, finalizers=finalizers)))
        if phase_of(vmi) in ("", "Pending", "Scheduling"):
            placed = await self._place(name, vmi)
            if placed is None:
                return DONE
            vmi = placed
        return await self._run(name, vmi)

    async def _place(self, name: Name, vmi: VirtualMachineInstance) -> VirtualMachineInstance | None:
        """The instance on a node that takes it; None if none does, which its status then says."""
        ledger = self._open_ledger()
        demand = measure_demand(vmi.spec, self._configuration())
        lacks: dict[str, list[str]] = {}
        for node in self._list_nodes():
            node_name = (node.metadata.name if node.metadata else None) or ""
            lacks[node_name] = check_fit(demand, node, ledger.used(node_name))
            if not lacks[node_name]:
                ledger.place(str(name), node_name, demand)
                self._unplaced.discard(name)
                self._recorder.tell(vmi, "Scheduled", f"assigned to node {node_name}")
                return await self._advance(vmi, Progress(phase="Scheduled", node=node_name))
        self._unplaced.add(name)
        words = explain_lacks(lacks, self._absence)
        self._tell_unplaced(vmi, words)
        await self._advance(vmi, Progress(phase="Scheduling", reason=UNSCHEDULABLE, message=words))
        return None

    def _tell_unplaced(self, vmi: VirtualMachineInstance, words: str) -> None:
        told = find_condition(vmi.status.conditions if vmi.status else None, SCHEDULED_CONDITION)
        if told is None or told.message != words:
            self._recorder.tell(vmi, "FailedScheduling", words, warning=True)

    async def _run(self, name: Name, vmi: VirtualMachineInstance) -> Result:
        """Have the guest run on its node, and say how it is doing."""
        node = (vmi.status.node_name if vmi.status else None) or ""
        self._open_ledger().place(str(name), node, measure_demand(vmi.spec, self._configuration()))
        launcher = self._launchers.get(node)
        if launcher is None:
            if self._cache.find(Node, node) is None:
                await self._advance(vmi, Progress(phase="Failed", reason="NodeLost", message=f"node {node} is gone"))
            return DONE
        guest = await launcher.launch(vmi)
        before = vmi
        vmi = await self._advance(vmi, read_guest(guest, node))
        if phase_of(vmi) != phase_of(before):
            self._tell_phase(vmi, guest)
        elif vmi is not before:
            self._tell_changes(before, vmi)
        return Result(after=LOOK_AGAIN_SECONDS) if guest.state in ("waiting", "starting") else DONE

    def _tell_changes(self, before: VirtualMachineInstance, vmi: VirtualMachineInstance) -> None:
        for name, reason in _TOLD_CONDITIONS.items():
            old = find_condition(before.status.conditions if before.status else None, name)
            new = find_condition(vmi.status.conditions if vmi.status else None, name)
            if new is not None and (old is None or old.reason != new.reason):
                is_fine = name == "Paused" or new.reason in _WAITS
                told = (new.reason or reason) if name == "Synchronized" else reason
                self._recorder.tell(vmi, told, new.message or reason, warning=not is_fine)
            elif old is not None and new is None and name == "Paused":
                self._recorder.tell(vmi, "Unpaused", "the guest goes on")

    def _tell_phase(self, vmi: VirtualMachineInstance, guest: Guest) -> None:
        match phase_of(vmi):
            case "Running":
                self._recorder.tell(vmi, "Started", "VirtualMachineInstance started.")
            case "Failed":
                self._recorder.tell(vmi, "Failed", guest.message or "the guest has failed", warning=True)
            case "Succeeded":
                self._recorder.tell(vmi, "Stopped", guest.message or "the guest has shut down")

    async def _finish(self, name: Name, vmi: VirtualMachineInstance) -> Result:
        """Let go of an instance that is being deleted, once nothing of it runs."""
        metadata = vmi.metadata or ObjectMeta()
        if INSTANCE_FINALIZER not in (metadata.finalizers or ()):
            return DONE
        launcher = self._launchers.get((vmi.status.node_name if vmi.status else None) or "")
        if launcher is not None and not await launcher.stop(vmi):
            return Result(after=LOOK_AGAIN_SECONDS)
        left = [one for one in metadata.finalizers or () if one != INSTANCE_FINALIZER]
        await self._client.update(replace(vmi, metadata=replace(metadata, finalizers=left or None)))
        self._recorder.tell(vmi, "Deleted", "the instance is gone")
        self._release(name)
        return DONE

    async def _advance(self, vmi: VirtualMachineInstance, progress: Progress) -> VirtualMachineInstance:
        stamp = format_time(self._clock())
        status = vmi.status or VirtualMachineInstanceStatus()
        for phase in _earlier_phases(phase_of(vmi), progress.phase):
            status = advance(replace(vmi, status=status), Progress(phase=phase), stamp)
        status = advance(replace(vmi, status=status), progress, stamp)
        status = replace(status, virtual_machine_revision_name=name_start_revision_of(vmi))
        if status == vmi.status:
            return vmi
        return await self._client.update(replace(vmi, status=status))  # instances have no status subresource

    def _open_ledger(self) -> Ledger:
        """What is taken of all nodes; on the first time, by all instances there are."""
        if self._ledger is None:
            self._ledger = Ledger()
            for vmi in self._cache.list(VirtualMachineInstance):
                node = vmi.status.node_name if vmi.status else None
                if node and not is_final(vmi) and vmi.metadata is not None:
                    key = Name(vmi.metadata.namespace or "", vmi.metadata.name or "")
                    self._ledger.place(str(key), node, measure_demand(vmi.spec, self._configuration()))
        return self._ledger

    def _release(self, name: Name) -> None:
        """Count the instance no more, and look again at those that found no room."""
        self._open_ledger().release(str(name))
        self._unplaced.discard(name)
        for waiting in self._unplaced:
            self._wake(waiting)

    def _list_nodes(self) -> list[Node]:
        return [
            node
            for node in self._cache.list(Node)
            if node.metadata is not None and (node.metadata.labels or {}).get(SCHEDULABLE_LABEL) == "true"
        ]

    def _configuration(self) -> KubeVirtConfiguration | None:
        installed = self._cache.find(KubeVirt, "kubevirt", "kubevirt")
        return installed.spec.configuration if installed is not None and installed.spec is not None else None


def read_guest(guest: Guest, node: str) -> Progress:
    """How far an instance is whose guest is doing so."""
    reason = (guest.reason or "Failed") if guest.state == "failed" else None
    return Progress(phase=_PHASES[guest.state], node=node, reason=reason, message=guest.message or None, guest=guest)


def _earlier_phases(before: str, after: Phase) -> list[Phase]:
    """The phases passed on the way, each of which is to have its time."""
    way: list[Phase] = ["Pending", "Scheduling", "Scheduled"]
    if after not in way:
        return []
    start = way.index(before) + 1 if before in way else 0
    return way[start : way.index(after)]
