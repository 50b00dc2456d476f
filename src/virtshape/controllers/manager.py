"""
All controllers of VMs over one client: what they watch, which queue each change goes to, and how they run together.

The same on a cluster and in one process. Collecting garbage and deleting namespaces is not here: clusters do it. Nor do
they place guests or keep volumes on a cluster, which has its own for that.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from typing import Final

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.node import Node
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.instancetype import v1beta2
from virtshape.api.kubevirt.configuration import KubeVirt
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.client.cache import Change, key_of
from virtshape.client.errors import UnreachableError
from virtshape.client.informers import Informers
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of
from virtshape.controllers.kubevirtstatus import InstallationReconciler
from virtshape.controllers.nodes import put_unready_node, settle_nodes
from virtshape.controllers.runtime.clock import Clock
from virtshape.controllers.runtime.events import FEW_AT_ONCE, MOST_AT_ONCE, Recorder
from virtshape.controllers.runtime.loop import Loop, Name
from virtshape.controllers.runtime.trimming import SlimClient
from virtshape.controllers.storage.controllers import ForeignControllers, PlayedControllers, StorageControllers
from virtshape.controllers.storage.protocol import Storage
from virtshape.controllers.storage.uses import BY_CLAIM, list_claim_keys
from virtshape.controllers.vm.controller import VmReconciler
from virtshape.controllers.vm.datavolumes import list_volume_names
from virtshape.controllers.vm.revisions import ROLES
from virtshape.controllers.vmi.controller import VmiReconciler
from virtshape.controllers.vmi.launcher import Launcher
from virtshape.controllers.vmi.phases import phase_of
from virtshape.controllers.vmi.scheduling import LAUNCHER_STARTING, NodePlacement, Placement, Roaming, Unready
from virtshape.resolve.matcher import find_matcher
from virtshape.supervise.supervisor import SupervisedTask, Supervisor, describe_error
from virtshape.supervise.tasks import LAUNCHER

RESYNC_SECONDS: Final = 600.0
BREATH_SECONDS: Final = 0.02
COMPONENT: Final = "virtualmachine-controller"
LAUNCHER_SECONDS: Final = 5.0
"""How long the other controllers wait for the launcher, which is usually there at once, before they begin without."""
SHAPING: Final[tuple[type[Model], ...]] = (
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
_BY_SHAPE: Final = "shape"
_BY_PLACEMENT: Final = "placement"
_UNPLACED: Final = "unplaced"
_log = logging.getLogger(__name__)

OpenLauncher = Callable[[], Awaitable[Launcher]]


def make_informers(client: Client) -> Informers:
    """What controllers see through: everything that is on the server, without what they never look at."""
    return Informers(SlimClient(client), resync_seconds=RESYNC_SECONDS)


class Controllers:
    """
    The controllers of VMs, instances and storage; without a launcher instances wait for a node.

    A launcher without storage only simulates guests, and storage is simulated too, except on a cluster: there volumes
    are read and never changed, and the launcher finds nodes for guests itself.
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
        absence: str = "",
        on_cluster: bool = False,
    ) -> None:
        """
        Set up the controllers; they start with `running`.

        `open_launcher` makes the launcher of the node of this name in the background, instead of `launcher`. `absence`
        says why there is no launcher, if there is none.
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
        self.recorder = Recorder(client, COMPONENT, clock, at_once=FEW_AT_ONCE if on_cluster else MOST_AT_ONCE)
        self._launchers: dict[str, Launcher] = {}
        self._unready: dict[str, Unready] = {node: LAUNCHER_STARTING} if open_launcher is not None else {}
        self._placement = self._make_placement(absence)
        self._generations: dict[Name, int | None] = {}
        vms = VmReconciler(client, self.informers, self.recorder, clock)
        self.vms = Loop("vm", vms.reconcile, report=vms.report)
        self.vmis = Loop("vmi", self._make_vmi_reconciler().reconcile)
        has_launcher = launcher is not None or open_launcher is not None
        installations = InstallationReconciler(
            client, self.informers, clock, runs_guests=has_launcher, list_checks=supervisor.list_checks
        )
        self.installations = Loop("kubevirt", installations.reconcile, workers=1)
        self._watch()
        self.storage = self._make_storage(storage, plays=has_launcher)
        for kind in (DataVolume, PersistentVolumeClaim):
            self.informers.add(kind).handle(self._see_disk)

    def _make_placement(self, absence: str) -> Placement:
        if self._on_cluster:
            return Roaming(self._launcher, absence)
        return NodePlacement(self.informers, self._launchers, absence, unready=self._unready)

    def _make_storage(
        self, storage: Storage | None, *, plays: bool
    ) -> StorageControllers | PlayedControllers | ForeignControllers:
        informers, recorder, clock = self.informers, self.recorder, self._clock
        if self._on_cluster:
            return ForeignControllers()
        if storage is not None:
            return StorageControllers(self._client, informers, recorder, clock, storage)
        return PlayedControllers(self._client, informers, recorder, clock, plays=plays)

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
        """All loops."""
        return (self.vms, self.vmis, *self.storage.loops, self.installations)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Control for as long as the block lasts; the first reconcile is after all objects were listed."""
        supervisor = self._supervisor
        async with contextlib.AsyncExitStack() as stack:
            if self._open_launcher is not None:
                start = supervisor.running(LAUNCHER, partial(self._start_launcher, self._open_launcher), finishes=True)
                await _wait_until_settled(await stack.enter_async_context(start))
            else:
                await self._add_launcher(self._launcher)
            await stack.enter_async_context(self.informers.running(supervisor))
            await self.informers.wait()
            await self.storage.settle()
            self._has_started = True
            await self._drop_strays()
            await stack.enter_async_context(self.recorder.running(supervisor))
            for loop in self.loops:
                await stack.enter_async_context(loop.running(supervisor))
            stack.callback(supervisor.observe(lambda _: self._look_at_all(KubeVirt, self.installations)))
            yield

    async def _start_launcher(self, open_launcher: OpenLauncher) -> None:
        """Open the launcher; on failure, instances and the node say why guests cannot start."""
        try:
            launcher = await open_launcher()
        except Exception as error:
            await self._report_unready(f"the launcher failed to start: {describe_error(error)}")
            raise
        self._unready.clear()
        await self._add_launcher(launcher)
        if self._has_started:
            await self._drop_strays()
            self._look_at_all(VirtualMachineInstance, self.vmis)

    async def _add_launcher(self, launcher: Launcher | None) -> None:
        self._launcher = launcher
        if not self._on_cluster:
            self._launchers.update(await settle_nodes(self._client, launcher, self._clock()))
        if launcher is not None:
            launcher.observe(lambda namespace, name: self.vmis.queue.add(Name(namespace, name)))

    async def _report_unready(self, message: str) -> None:
        self._unready[self._node] = Unready(message, is_failure=True)
        if self._has_started:
            self._look_at_unplaced()
        try:
            node = await put_unready_node(self._client, self._node, message, self._clock())
        except (StatusError, UnreachableError) as error:
            _log.warning("reporting that node %s is not ready failed: %s", self._node, error)
        else:
            self.recorder.tell(node, "NodeNotReady", message, warning=True)

    async def _drop_strays(self) -> None:
        """Have the launcher remove guests whose objects were deleted while no controller ran."""
        if self._launcher is not None:
            kinds = (VirtualMachine, VirtualMachineInstance)
            await self._launcher.keep_only({uid for kind in kinds for uid in self.informers.list_uids(kind)})

    def _watch(self) -> None:
        add = self.informers.add
        add(VirtualMachine, {_BY_VOLUME: _volumes_of, _BY_SHAPE: _shapes_of}).handle(self._see_vm)
        indexes = {_BY_PLACEMENT: _placement_of, BY_CLAIM: list_claim_keys}
        add(VirtualMachineInstance, indexes).handle(self._see_vmi)
        if not self._on_cluster:
            add(Node).handle(lambda _: self._look_at_unplaced())
        add(KubeVirt).handle(self._see_installation)
        for kind in SHAPING:
            add(kind).handle(self._see_shape)

    def _see_vm(self, change: Change[VirtualMachine]) -> None:
        """A new VM is looked at now, and one that changed a moment later: changes come several at a time."""
        if change.type == "DELETED" and self._launcher is not None:
            self._launcher.forget(metadata_of(change.item).uid or "")
        self.vms.queue.add_after(key_of(change.item), 0 if change.type == "ADDED" else BREATH_SECONDS)

    def _see_vmi(self, change: Change[VirtualMachineInstance]) -> None:
        name = key_of(change.item)
        self.vmis.queue.add(name)
        if change.type != "RESYNCED":
            self.vms.queue.add_after(name, BREATH_SECONDS)

    def _see_disk(self, change: Change[Model]) -> None:
        """A disk that VMs and instances may have been waiting for."""
        disk = str(key_of(change.item))
        for place in self.informers.find_keys_by(VirtualMachine, _BY_VOLUME, disk):
            self.vms.queue.add(place)
        for place in self.informers.find_keys_by(VirtualMachineInstance, BY_CLAIM, disk):
            self.vmis.queue.add(place)

    def _see_installation(self, change: Change[KubeVirt]) -> None:
        name = key_of(change.item)
        self.installations.queue.add(name)
        generation = metadata_of(change.item).generation
        if self._generations.get(name) != generation:
            self._generations[name] = generation
            self._look_at_all(VirtualMachine, self.vms)

    def _see_shape(self, change: Change[Model]) -> None:
        """An object that VMs may have been waiting for."""
        if change.type == "ADDED":
            name = metadata_of(change.item).name or ""
            for place in self.informers.find_keys_by(VirtualMachine, _BY_SHAPE, name):
                self.vms.queue.add(place)

    def _look_at_all(self, kind: type[Model], loop: Loop) -> None:
        for place in self.informers.list_keys(kind):
            loop.queue.add(place)

    def _look_at_unplaced(self) -> None:
        for place in self.informers.find_keys_by(VirtualMachineInstance, _BY_PLACEMENT, _UNPLACED):
            self.vmis.queue.add(place)


async def _wait_until_settled(launcher: SupervisedTask) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(launcher.settled.wait(), LAUNCHER_SECONDS)


def _volumes_of(vm: VirtualMachine) -> Iterable[str]:
    namespace = key_of(vm).namespace
    return [str(Name(namespace, name)) for name in list_volume_names(vm)]


def _placement_of(vmi: VirtualMachineInstance) -> Iterable[str]:
    return [_UNPLACED] if phase_of(vmi) in ("", "Pending", "Scheduling") else ()


def _shapes_of(vm: VirtualMachine) -> Iterable[str]:
    """The objects that the VM refers to and has no copy of yet."""
    matchers = (find_matcher(vm, role) for role in ROLES)
    return [matcher.name for matcher in matchers if matcher and matcher.name and not matcher.revision_name]
