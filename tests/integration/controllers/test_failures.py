"""Failing guests are restarted immediately, after a delay or never, depending on the run strategy."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.controllers import (
    ControlledSystem,
    instancetype_tree,
    open_controlled_system,
    preference_tree,
    vm_tree,
)
from tests.support.waiting import eventually

from virtshape.api.kubevirt.conditions import find_condition
from virtshape.api.kubevirt.instance import VirtualMachineInstance, is_final
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.client.resources import metadata_of
from virtshape.controllers.manager import Controllers
from virtshape.controllers.runtime.loop import Name
from virtshape.controllers.vm.startfailure import FIRST_DELAY_SECONDS
from virtshape.controllers.vmi.gueststatus import GuestStatus
from virtshape.controllers.vmi.launcher import SimulatedLauncher
from virtshape.controllers.vmi.phases import phase_of
from virtshape.supervise.supervisor import Supervisor

NAME = Name("default", "vm1")


class FailingLauncher(SimulatedLauncher):
    """A launcher that first reports the given statuses, one for each phase of an instance."""

    def __init__(self, *ends: GuestStatus) -> None:
        super().__init__()
        self.ends = list(ends)
        self.launched: set[str] = set()
        self._returned: dict[tuple[str, str], GuestStatus] = {}

    async def launch(self, vmi: VirtualMachineInstance) -> GuestStatus:
        uid = metadata_of(vmi).uid or ""
        self.launched.add(uid)
        key = uid, phase_of(vmi)
        if key not in self._returned and self.ends and not is_final(vmi):
            self._returned[key] = self.ends.pop(0)
        return self._returned[key] if key in self._returned and not is_final(vmi) else await super().launch(vmi)


class FakeClock:
    """A fake clock whose time is set by tests."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def running(system: ControlledSystem, launcher: FailingLauncher, clock: FakeClock) -> AsyncIterator[Controllers]:
    controllers = Controllers(system.connect_as_system(), launcher, clock, supervisor=Supervisor())
    async with controllers.running():
        yield controllers


async def test_start_delay_grows_with_each_failed_start(tmp_path: Path) -> None:
    launcher, clock = FailingLauncher(GuestStatus("failed", "no disk"), GuestStatus("failed", "no disk")), FakeClock()
    async with open_controlled_system(tmp_path) as system, running(system, launcher, clock) as controllers:
        await system.create(instancetype_tree(), preference_tree(), vm_tree())
        vm = await system.wait_for("CrashLoopBackOff")
        await system.wait_until_gone(VirtualMachineInstance)
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert vm.status is not None
        assert vm.status.start_failure is not None
        assert vm.status.start_failure.consecutive_fail_count == 1
        assert len(launcher.launched) == 1
        clock.now += FIRST_DELAY_SECONDS
        controllers.vms.queue.add(NAME)

        async def probe() -> bool | None:
            vm = await system.vm()
            failure = vm.status.start_failure if vm.status else None
            return True if failure is not None and failure.consecutive_fail_count == 2 else None

        await eventually(probe, "the second failure is not counted")
        await system.wait_until_gone(VirtualMachineInstance)
        clock.now += 4 * FIRST_DELAY_SECONDS
        controllers.vms.queue.add(NAME)
        await system.wait_for("Running")
        await system.wait_until_idle(controllers)
        vm = await system.vm()
        assert vm.status is not None
        assert vm.status.start_failure is None
        assert len(launcher.launched) == 3


async def test_rerun_on_failure_restarts_only_failed_guests(tmp_path: Path) -> None:
    launcher = FailingLauncher(
        GuestStatus("running"), GuestStatus("failed", "panic"), GuestStatus("running"), GuestStatus("succeeded")
    )
    async with open_controlled_system(tmp_path) as system, running(system, launcher, FakeClock()) as controllers:
        await system.create(instancetype_tree(), preference_tree(), vm_tree(runStrategy="RerunOnFailure"))

        async def probe() -> bool | None:
            controllers.vmis.queue.add(NAME)  # a launcher queues the instance in this way when its guest changes
            vm = await system.vm()
            stopped = vm.status is not None and vm.status.printable_status == "Stopped"
            return True if not launcher.ends and stopped else None

        await eventually(probe, "the VM does not stop")
        await system.wait_until_idle(controllers)
        assert len(launcher.launched) == 2
        assert await system.find(VirtualMachineInstance) is None
        vm = await system.vm()
        assert vm.status is not None
        assert vm.status.state_change_requests is None


async def test_vm_with_run_strategy_once_starts_only_once(tmp_path: Path) -> None:
    launcher = FailingLauncher(GuestStatus("running"), GuestStatus("failed", "panic"))
    async with open_controlled_system(tmp_path) as system, running(system, launcher, FakeClock()) as controllers:
        await system.create(instancetype_tree(), preference_tree(), vm_tree(runStrategy="Once"))

        async def probe() -> bool | None:
            controllers.vmis.queue.add(NAME)
            vmi = await system.find(VirtualMachineInstance)
            return True if vmi is not None and is_final(vmi) else None

        await eventually(probe, "the instance does not end")
        await system.wait_until_idle(controllers)
        await system.client.delete(VirtualMachineInstance, "vm1", "default")
        await system.wait_until_gone(VirtualMachineInstance)
        await system.wait_until_idle(controllers)
        assert await system.find(VirtualMachineInstance) is None
        assert len(launcher.launched) == 1


async def test_vm_without_memory_reports_the_failure_and_starts_once_memory_is_set(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system, system.run_controllers():
        await system.create(vm_tree(instancetype=None, preference=None))

        async def find_failure() -> str | None:
            status = (await system.vm()).status
            failure = find_condition(status.conditions, "Failure") if status else None
            return failure.message if failure else None

        message = await eventually(find_failure, "the VM reports no failure")
        assert "no memory: set " in message
        assert "choose an instance type that sets spec.memory.guest" in message
        patch = {"spec": {"template": {"spec": {"domain": {"memory": {"guest": "1Gi"}}}}}}
        await system.client.patch(VirtualMachine, "vm1", "default", patch=patch)
        await system.wait_for("Running")
