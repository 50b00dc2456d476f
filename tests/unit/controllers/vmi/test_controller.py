"""The instance controller without a server."""

from typing import Any

from msgspec.structs import replace

from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.wellknown import VMI_FINALIZER
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.controllers.runtime.loop import Name
from virtshape.controllers.vmi.controller import VmiReconciler
from virtshape.controllers.vmi.gueststatus import GuestStatus
from virtshape.controllers.vmi.scheduling import ClusterPlacement, PlacementResult

NAME = Name("default", "vm1")


class Stored:
    """A fake client and a cache that lags behind it."""

    def __init__(self) -> None:
        metadata = ObjectMeta(name=NAME.name, namespace=NAME.namespace, uid="u", resource_version="1")
        spec = VirtualMachineInstanceSpec(domain=DomainSpec(devices=Devices()))
        self.kept = self.seen = VirtualMachineInstance(
            api_version="kubevirt.io/v1", kind="VirtualMachineInstance", metadata=metadata, spec=spec
        )
        self.writes = 0

    async def update(self, item: VirtualMachineInstance) -> VirtualMachineInstance:
        assert item.metadata.resource_version == self.kept.metadata.resource_version
        self.writes += 1
        self.kept = replace(item, metadata=replace(item.metadata, resource_version=str(1 + self.writes)))
        return self.kept

    def find(self, kind: Any, name: str, namespace: str = "") -> VirtualMachineInstance:
        del kind, name, namespace
        return self.seen


async def test_instance_is_skipped_until_its_write_is_in_the_cache() -> None:
    stored: Any = Stored()

    recorder = EventRecorder(stored, "test", lambda: 0.0)
    vmis = VmiReconciler(stored, stored, recorder, lambda: 0.0, ClusterPlacement(None, "nothing runs"), lambda _: None)
    await vmis.reconcile(NAME)
    written = stored.writes
    assert written > 0
    await vmis.reconcile(NAME)
    assert stored.writes == written
    stored.seen = replace(stored.kept, status=None)  # change by another client
    await vmis.reconcile(NAME)
    assert stored.writes > written


class OneSpot:
    """A placement with room for one instance, and a launcher that refuses every instance."""

    recheck_seconds = 1.0

    def __init__(self) -> None:
        self.released: list[Name] = []
        self.unready = False
        self.stopped = 0

    def place(self, name: Name, vmi: VirtualMachineInstance) -> PlacementResult:
        del name, vmi
        return PlacementResult("node1")

    def find_launcher(self, name: Name, vmi: VirtualMachineInstance) -> Any:
        del name, vmi
        return self

    async def launch(self, vmi: VirtualMachineInstance) -> GuestStatus:
        del vmi
        return GuestStatus("refused", "spec.architecture: it is another one", "NotPossibleHere")

    async def stop(self, vmi: VirtualMachineInstance) -> bool:
        del vmi
        self.stopped += 1
        return True

    def is_lost(self, vmi: VirtualMachineInstance) -> bool:
        del vmi
        return False

    def is_node_not_ready(self, vmi: VirtualMachineInstance) -> bool:
        del vmi
        return self.unready

    def release(self, name: Name) -> set[Name]:
        self.released.append(name)
        return {Name("default", "vm2")}


async def test_refused_instance_releases_its_resources() -> None:
    stored: Any = Stored()
    placement, woken = OneSpot(), list[Name]()

    recorder = EventRecorder(stored, "test", lambda: 0.0)
    await VmiReconciler(stored, stored, recorder, lambda: 0.0, placement, woken.append).reconcile(NAME)
    assert placement.released == [NAME]
    assert woken == [Name("default", "vm2")]


async def test_deleted_instance_keeps_its_finalizer_until_the_launcher_can_stop_the_guest() -> None:
    stored: Any = Stored()
    placement = OneSpot()
    metadata = replace(stored.seen.metadata, finalizers=[VMI_FINALIZER], deletion_timestamp="2026-01-01T00:00:00Z")
    stored.kept = stored.seen = replace(stored.seen, metadata=metadata)

    recorder = EventRecorder(stored, "test", lambda: 0.0)
    vmis = VmiReconciler(stored, stored, recorder, lambda: 0.0, placement, lambda _: None)
    placement.unready = True
    await vmis.reconcile(NAME)
    assert (placement.stopped, stored.writes) == (0, 0)
    placement.unready = False
    await vmis.reconcile(NAME)
    assert (placement.stopped, stored.kept.metadata.finalizers) == (1, None)
