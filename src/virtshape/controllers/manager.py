"""
Controller manager: set up informers, work queues and reconcilers for VMs, instances and storage, and run them.

The manager is used in the standalone server and on clusters. Garbage collection and namespace deletion are separate,
because clusters have their own controllers for these. On a cluster, the cluster also schedules guests and provisions
storage.
"""

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from typing import Final

from virtshape.api.apps import ControllerRevision
from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.node import Node
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.instancetype import v1beta2
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import KubernetesObject
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.api.times import Clock
from virtshape.api.wellknown import OBJECT_NAME_LABEL
from virtshape.client.cache import Change, key_of
from virtshape.client.errors import UnreachableError
from virtshape.client.informer import Informers
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of
from virtshape.controllers.commoninstancetypes import LoadCatalog
from virtshape.controllers.kubevirtstatus import KubeVirtReconciler
from virtshape.controllers.nodes import mark_node_not_ready, update_node
from virtshape.controllers.runtime.clients import TrimmingClient
from virtshape.controllers.runtime.events import MAX_PARALLEL, MAX_PARALLEL_ON_CLUSTER, EventRecorder
from virtshape.controllers.runtime.loop import Loop, Name
from virtshape.controllers.storage.claimusage import BY_CLAIM, list_claim_keys
from virtshape.controllers.storage.controllers import (
    ExternalStorageControllers,
    SimulatedStorageControllers,
    StorageControllers,
)
from virtshape.controllers.storage.protocol import Storage
from virtshape.controllers.vm.controller import STARTED_SECONDS, VmReconciler
from virtshape.controllers.vm.datavolumes import list_volume_names
from virtshape.controllers.vm.revisionobjects import (
    ROLES,
)
from virtshape.controllers.vm.revisions import list_pinned_revisions
from virtshape.controllers.vm.sharedrevisionobjects import BY_OWNER, list_owner_uids
from virtshape.controllers.vmi.controller import VmiReconciler
from virtshape.controllers.vmi.launcher import Launcher
from virtshape.controllers.vmi.phases import phase_of
from virtshape.controllers.vmi.scheduling import (
    LAUNCHER_STARTING,
    ClusterPlacement,
    NodeNotReady,
    NodePlacement,
    Placement,
)
from virtshape.resolve.matcher import find_matcher, list_recaptured
from virtshape.supervise.failures import describe_error
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import LAUNCHER

RESYNC_SECONDS: Final = 600.0
COALESCE_SECONDS: Final = 0.02
COMPONENT: Final = "virtualmachine-controller"
LAUNCHER_SECONDS: Final = 5.0
"""Time that the other controllers wait for the launcher before they start without it."""
INSTANCETYPE_KINDS: Final[tuple[type[Model], ...]] = (
    v1beta2.VirtualMachineInstancetype,
    v1beta2.VirtualMachineClusterInstancetype,
    v1beta2.VirtualMachinePreference,
    v1beta2.VirtualMachineClusterPreference,
    flavor.VirtualMachineFlavor,
    flavor.VirtualMachineClusterFlavor,
    flavor.VirtualMachinePreference,
    flavor.VirtualMachineClusterPreference,
)
_BY_VOLUME: Final = "volume"
_BY_INSTANCETYPE: Final = "shape"
_BY_PLACEMENT: Final = "placement"
_UNPLACED: Final = "unplaced"
_log = logging.getLogger(__name__)

OpenLauncher = Callable[[], Awaitable[Launcher]]


def make_informers(client: Client) -> Informers:
    """Return informers whose objects are trimmed to the fields that controllers read."""
    return Informers(TrimmingClient(client), resync_seconds=RESYNC_SECONDS)


class Controllers:
    """
    The controllers of VMs, instances and storage; without a launcher, instances stay unscheduled.

    A launcher without storage only simulates guests, and storage is simulated too. On a cluster, volumes are only read
    and the launcher schedules guests itself.
    """

    def __init__(
        self,
        client: Client,
        launcher: Launcher | None = None,
        clock: Clock = time.time,
        *,
        supervisor: Supervisor,
        open_launcher: OpenLauncher | None = None,
        node: str = "",
        storage: Storage | None = None,
        informers: Informers | None = None,
        no_launcher_reason: str = "",
        on_cluster: bool = False,
        load_catalog: LoadCatalog = tuple,
    ) -> None:
        """
        Set up the controllers; `running` starts them.

        `open_launcher` starts the launcher of node `node` in the background; the started launcher replaces `launcher`.
        `no_launcher_reason` explains why there is no launcher. `load_catalog` returns the common instance types and
        preferences.
        """
        self._client = client
        self._launcher = launcher
        self._open_launcher = open_launcher
        self._node = node
        self._clock = clock
        self._on_cluster = on_cluster
        self._supervisor = supervisor
        self._has_started = False
        self.informers = informers or make_informers(client)
        self.recorder = EventRecorder(
            client, COMPONENT, clock, parallel=MAX_PARALLEL_ON_CLUSTER if on_cluster else MAX_PARALLEL
        )
        self._launchers: dict[str, Launcher] = {}
        self._not_ready: dict[str, NodeNotReady] = {node: LAUNCHER_STARTING} if open_launcher is not None else {}
        self._placement = self._make_placement(no_launcher_reason)
        self._generations: dict[Name, int | None] = {}
        self._vm_reconciler = vms = VmReconciler(client, self.informers, self.recorder, clock, on_cluster=on_cluster)
        self.vms = Loop("vm", vms.reconcile, report=vms.report)
        vmis = self._make_vmi_reconciler()
        self.vmis = Loop("vmi", vmis.reconcile, report=vmis.report)
        has_launcher = launcher is not None or open_launcher is not None
        installations = KubeVirtReconciler(
            client,
            self.informers,
            clock,
            runs_guests=has_launcher,
            list_checks=supervisor.list_checks,
            load_catalog=load_catalog,
        )
        self.installations = Loop("kubevirt", installations.reconcile, workers=1)
        self._more_loops: list[Loop] = []
        self._watch()
        self.storage = self._make_storage(storage, bind_claims=has_launcher)
        for kind in (DataVolume, PersistentVolumeClaim):
            self.informers.add(kind).handle(self._on_disk_change)

    def _make_placement(self, no_launcher_reason: str) -> Placement:
        if self._on_cluster:
            return ClusterPlacement(self._launcher, no_launcher_reason)
        return NodePlacement(self.informers, self._launchers, no_launcher_reason, not_ready=self._not_ready)

    def _make_storage(
        self, storage: Storage | None, *, bind_claims: bool
    ) -> StorageControllers | SimulatedStorageControllers | ExternalStorageControllers:
        informers, recorder, clock = self.informers, self.recorder, self._clock
        if self._on_cluster:
            return ExternalStorageControllers()
        if storage is not None:
            return StorageControllers(self._client, informers, recorder, clock, storage)
        return SimulatedStorageControllers(self._client, informers, recorder, clock, bind_claims=bind_claims)

    def _make_vmi_reconciler(self) -> VmiReconciler:
        return VmiReconciler(
            self._client,
            self.informers,
            self.recorder,
            self._clock,
            self._placement,
            lambda name: self.vmis.queue.add(name),
        )

    @property
    def loops(self) -> tuple[Loop, ...]:
        """All control loops."""
        return (self.vms, self.vmis, *self.storage.loops, self.installations, *self._more_loops)

    def add_loop(self, loop: Loop) -> None:
        """Add a control loop that runs together with these controllers; call this method before the controllers run."""
        self._more_loops.append(loop)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the controllers during the `async with` block, which is entered after all informers have synced."""
        supervisor = self._supervisor
        async with contextlib.AsyncExitStack() as stack:
            if self._open_launcher is not None:
                start = supervisor.running(LAUNCHER, partial(self._start_launcher, self._open_launcher), finishes=True)
                await (await stack.enter_async_context(start)).wait_for_first_attempt(LAUNCHER_SECONDS)
            else:
                await self._add_launcher(self._launcher)
            await stack.enter_async_context(self.informers.running(supervisor))
            await self.informers.wait()
            await self.storage.drop_stale_jobs()
            self._has_started = True
            await self._remove_stale_guests()
            await stack.enter_async_context(self.recorder.running(supervisor))
            for loop in self.loops:
                await stack.enter_async_context(loop.running(supervisor))
            stack.callback(supervisor.observe(lambda _: self._enqueue_all(KubeVirt, self.installations)))
            yield

    async def _start_launcher(self, open_launcher: OpenLauncher) -> None:
        """Start the launcher; on failure, report the reason in the status of instances and the node, and raise."""
        try:
            launcher = await open_launcher()
        except Exception as error:
            await self._report_not_ready(f"the launcher failed to start: {describe_error(error)}")
            raise
        self._not_ready.clear()
        await self._add_launcher(launcher)
        if self._has_started:
            await self._remove_stale_guests()
            self._enqueue_all(VirtualMachineInstance, self.vmis)

    async def _add_launcher(self, launcher: Launcher | None) -> None:
        self._launcher = launcher
        if not self._on_cluster:
            self._launchers.update(await update_node(self._client, launcher, self._clock()))
        if launcher is not None:
            launcher.observe(lambda namespace, name: self.vmis.queue.add(Name(namespace, name)))

    async def _report_not_ready(self, message: str) -> None:
        self._not_ready[self._node] = NodeNotReady(message, is_failure=True)
        if self._has_started:
            self._enqueue_unplaced()
        try:
            node = await mark_node_not_ready(self._client, self._node, message, self._clock())
        except (StatusError, UnreachableError) as error:
            _log.warning(
                "setting node %s to not ready failed: %s; retrying if the launcher fails again", self._node, error
            )
        else:
            self.recorder.event(node, "NodeNotReady", message, warning=True)

    async def _remove_stale_guests(self) -> None:
        """Make the launcher remove guests whose objects were deleted while no controller ran."""
        if self._launcher is not None:
            kinds = (VirtualMachine, VirtualMachineInstance)
            await self._launcher.keep_only({uid for kind in kinds for uid in self.informers.list_uids(kind)})

    def _watch(self) -> None:
        add = self.informers.add
        add(VirtualMachine, {_BY_VOLUME: _volumes_of, _BY_INSTANCETYPE: _instancetypes_of}).handle(self._on_vm_change)
        indexes = {_BY_PLACEMENT: _placement_of, BY_CLAIM: list_claim_keys}
        add(VirtualMachineInstance, indexes).handle(self._on_vmi_change)
        if not self._on_cluster:
            add(Node).handle(lambda _: self._enqueue_unplaced())
        add(KubeVirt).handle(self._on_kubevirt_change)
        for kind in INSTANCETYPE_KINDS:
            add(kind).handle(self._on_instancetype_change)
        revisions = add(ControllerRevision, {BY_OWNER: list_owner_uids}, labels=OBJECT_NAME_LABEL)
        revisions.handle(self._on_revision_change)

    def _on_vm_change(self, change: Change[VirtualMachine]) -> None:
        """
        Enqueue a changed VM: at once if it is new, otherwise after a short delay, because changes come in bursts.

        If the VM was deleted, the launcher also removes its persistent data.
        """
        if change.type == "DELETED" and self._launcher is not None:
            self._launcher.forget(metadata_of(change.item).uid or "")
        self.vms.queue.add_after(key_of(change.item), 0 if change.type == "ADDED" else COALESCE_SECONDS)

    def _on_vmi_change(self, change: Change[VirtualMachineInstance]) -> None:
        """Enqueue a changed instance and its VM; the VM of a new instance waits, because the instance changes again."""
        name = key_of(change.item)
        self.vmis.queue.add(name)
        is_listed = change.type == "ADDED" and not self._has_started  # the VM itself is enqueued too
        if change.type != "RESYNCED" and not is_listed:
            self.vms.queue.add_after(name, STARTED_SECONDS if change.type == "ADDED" else COALESCE_SECONDS)

    def _on_disk_change(self, change: Change[KubernetesObject]) -> None:
        """Enqueue the VMs and instances that use a changed DataVolume or claim."""
        disk = str(key_of(change.item))
        for place in self.informers.find_keys_by(VirtualMachine, _BY_VOLUME, disk):
            self.vms.queue.add(place)
        for place in self.informers.find_keys_by(VirtualMachineInstance, BY_CLAIM, disk):
            self.vmis.queue.add(place)

    def _on_kubevirt_change(self, change: Change[KubeVirt]) -> None:
        name = key_of(change.item)
        self.installations.queue.add(name)
        generation = metadata_of(change.item).generation
        if self._generations.get(name) != generation:
            self._generations[name] = generation
            self._enqueue_all(VirtualMachine, self.vms)

    def _on_instancetype_change(self, change: Change[Model]) -> None:
        """Enqueue the VMs that refer to the name of a new instance type, flavor or preference."""
        if change.type == "ADDED":
            name = metadata_of(change.item).name or ""
            for place in self.informers.find_keys_by(VirtualMachine, _BY_INSTANCETYPE, name):
                self.vms.queue.add(place)

    def _on_revision_change(self, change: Change[ControllerRevision]) -> None:
        """Enqueue the VMs that own a deleted revision."""
        self._vm_reconciler.observe_revision(change)
        if change.type != "DELETED":
            return
        for owner in change.item.metadata.owner_references or ():
            if owner.kind == "VirtualMachine":
                self.vms.queue.add_after(Name(key_of(change.item).namespace, owner.name), COALESCE_SECONDS)

    def _enqueue_all(self, kind: type[Model], loop: Loop) -> None:
        for place in self.informers.list_keys(kind):
            loop.queue.add(place)

    def _enqueue_unplaced(self) -> None:
        for place in self.informers.find_keys_by(VirtualMachineInstance, _BY_PLACEMENT, _UNPLACED):
            self.vmis.queue.add(place)


def _volumes_of(vm: VirtualMachine) -> Iterable[str]:
    namespace = key_of(vm).namespace
    return [str(Name(namespace, name)) for name in list_volume_names(vm)]


def _placement_of(vmi: VirtualMachineInstance) -> Iterable[str]:
    return [_UNPLACED] if phase_of(vmi) in ("", "Pending", "Scheduling") else ()


def _instancetypes_of(vm: VirtualMachine) -> Iterable[str]:
    """Return the names of instance types, flavors and preferences that the VM refers to without a revision."""
    pinned = {} if list_recaptured(vm) else list_pinned_revisions(vm)
    matchers = (find_matcher(vm, role) for role in ROLES if role not in pinned)
    return [matcher.name for matcher in matchers if matcher and matcher.name]
