"""Events: a repeated event is counted instead of written again, even by a restarted controller."""

from pathlib import Path

from tests.support.build import build_vm
from tests.support.controllers import ControlledSystem, open_controlled_system
from tests.support.instances import NOW, STAMP

from virtshape.api.codec import to_tree
from virtshape.controllers.eventexpiry import EventExpiry
from virtshape.controllers.runtime.events import EventRecorder
from virtshape.supervise.supervisor import Supervisor

COMPONENT = "teller"


async def record(system: ControlledSystem, times: int, *, now: float) -> None:
    vm = build_vm(namespace="default")
    recorder = EventRecorder(system.client, COMPONENT, lambda: now)
    async with recorder.running(Supervisor()):
        for _ in range(times):
            recorder.event(vm, "FailedCreate", "no room", warning=True)
        await recorder.flush()


async def test_repeated_event_is_counted(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await record(system, 3, now=NOW)
        await record(system, 2, now=NOW + 60)
        (event,) = await system.list_events(COMPONENT)
        tree = to_tree(event)
        del tree["metadata"]
        assert tree == {
            "apiVersion": "v1",
            "kind": "Event",
            "involvedObject": {
                "apiVersion": "kubevirt.io/v1",
                "kind": "VirtualMachine",
                "name": "vm1",
                "namespace": "default",
            },
            "type": "Warning",
            "reason": "FailedCreate",
            "message": "no room",
            "count": 5,
            "firstTimestamp": STAMP,
            "lastTimestamp": "2027-01-15T08:01:00Z",
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "reportingInstance": "",
        }


async def test_events_expire_one_hour_after_their_last_occurrence(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await record(system, 1, now=NOW)
        assert await EventExpiry(system.client, lambda: NOW + 3600).sweep() == 0
        assert await EventExpiry(system.client, lambda: NOW + 3601).sweep() == 1
        assert not await system.list_events(COMPONENT)


async def test_events_from_the_future_expire_after_the_clock_was_set_back(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await record(system, 1, now=NOW)
        assert await EventExpiry(system.client, lambda: NOW - 3600).sweep() == 0
        assert await EventExpiry(system.client, lambda: NOW - 3601).sweep() == 1


async def test_failed_event_write_does_not_block_the_controller(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        recorder = EventRecorder(system.client, COMPONENT, lambda: NOW)
        async with recorder.running(Supervisor()):
            recorder.event(build_vm(namespace="nowhere"), "Lost", "the event is not written")
        assert not await system.list_events(COMPONENT)
