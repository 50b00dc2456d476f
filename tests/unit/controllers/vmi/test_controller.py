"""The instance controller, tested with fake clients instead of a server."""

from typing import Any

from msgspec.structs import replace

from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.kubevirt.status import VirtualMachineInstanceStatus
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.api.wellknown import VMI_FINALIZER
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.controllers.runtime.loop import Name
from virtshape.controllers.vmi.controller import VmiReconciler
from virtshape.controllers.vmi.gueststatus import GuestStatus
from virtshape.controllers.vmi.scheduling import ClusterPlacement, PlacementResult

NAME = Name("default", "vm1")


class LaggingClient:
    """A fake client whose cache does not have the latest writes."""

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
    stored: Any = LaggingClient()

    recorder = EventRecorder(stored, "test", lambda: 0.0)
    vmis = VmiReconciler(stored, stored, recorder, lambda: 0.0, ClusterPlacement(None, "nothing runs"), lambda _: None)
    await vmis.reconcile(NAME)
    written = stored.writes
    assert written > 0
    await vmis.reconcile(NAME)
    assert stored.writes == written
    stored.seen = replace(stored.kept, status=None)  # another client has changed the instance
    await vmis.reconcile(NAME)
    assert stored.writes > written


class FakePlacement:
    """A fake placement, and a fake launcher that refuses every instance; both record calls."""

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
    stored: Any = LaggingClient()
    placement, woken = FakePlacement(), list[Name]()

    recorder = EventRecorder(stored, "test", lambda: 0.0)
    await VmiReconciler(stored, stored, recorder, lambda: 0.0, placement, woken.append).reconcile(NAME)
    assert placement.released == [NAME]
    assert woken == [Name("default", "vm2")]


async def test_deleted_instance_keeps_its_finalizer_until_its_guest_can_be_stopped() -> None:
    stored: Any = LaggingClient()
    placement = FakePlacement()
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


class RecordedEvents:
    """An event recorder that stores events in a list."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, bool]] = []

    def event(self, involved_object: Any, reason: str, message: str, *, warning: bool = False) -> None:
        del involved_object
        self.events.append((reason, message, warning))


REFUSED = StatusError(403, "FailedCreate", "failed to create virtual machine pod: exceeded quota")


async def test_refused_pod_is_reported_in_conditions_and_an_event() -> None:
    stored: Any = LaggingClient()
    recorder: Any = RecordedEvents()
    vmis = VmiReconciler(stored, stored, recorder, lambda: 0.0, ClusterPlacement(None), lambda _: None)
    await vmis.report(NAME, REFUSED)
    assert recorder.events == [("FailedCreate", REFUSED.message, True)]
    assert stored.kept.status.phase == "Pending"
    conditions = {one.type: (one.status, one.reason, one.message) for one in stored.kept.status.conditions}
    assert conditions == {
        "Ready": ("False", "GuestNotRunning", REFUSED.message),
        "Synchronized": ("False", "FailedCreate", REFUSED.message),
    }
    stored.seen = stored.kept
    await vmis.report(NAME, REFUSED)
    assert stored.writes == 1


async def test_reconcile_failure_of_a_running_instance_is_not_reported_in_its_status() -> None:
    stored: Any = LaggingClient()
    recorder: Any = RecordedEvents()
    stored.seen = replace(stored.kept, status=VirtualMachineInstanceStatus(phase="Running"))
    vmis = VmiReconciler(stored, stored, recorder, lambda: 0.0, ClusterPlacement(None), lambda _: None)
    await vmis.report(NAME, REFUSED)
    assert (stored.writes, recorder.events) == (0, [])
