"""A thousand VMs are started, stopped and deleted while the server is killed repeatedly."""

from pathlib import Path

from tests.e2e.fleet import (
    EVENTS,
    NAMESPACE,
    REVISIONS,
    SIZES,
    VIRTUAL_MACHINE_INSTANCES,
    VIRTUAL_MACHINES,
    Fleet,
    run_fleet,
)
from tests.support.upprocess import call_virtshape

SIZE = 1_000


def check_running(fleet: Fleet) -> None:
    vms = {vm["metadata"]["name"]: vm for vm in fleet.list(VIRTUAL_MACHINES)}
    vmis = {vmi["metadata"]["name"]: vmi for vmi in fleet.list(VIRTUAL_MACHINE_INSTANCES)}
    assert list(vms) == list(vmis) == fleet.names
    assert {vmi["status"]["phase"] for vmi in vmis.values()} == {"Running"}
    assert {vmi["status"]["nodeName"] for vmi in vmis.values()} == {"simulated"}
    owners = {name: vmi["metadata"]["ownerReferences"][0]["uid"] for name, vmi in vmis.items()}
    assert owners == {name: vm["metadata"]["uid"] for name, vm in vms.items()}
    started = {vmi["status"]["virtualMachineRevisionName"] for vmi in vmis.values()}
    pinned = {vm["spec"][role]["revisionName"] for vm in vms.values() for role in ("instancetype", "preference")}
    assert {revision["metadata"]["name"] for revision in fleet.list(REVISIONS)} == started | pinned


def check_stopped(fleet: Fleet) -> None:
    fleet.wait(
        lambda: fleet.list(VIRTUAL_MACHINE_INSTANCES) == [], "instances are left"
    )  # the last instances are removed after the VMs are Stopped
    fleet.wait(
        lambda: not any(vm["status"].get("created") for vm in fleet.list(VIRTUAL_MACHINES)), "instances have events"
    )
    vms = fleet.list(VIRTUAL_MACHINES)
    assert [vm["metadata"]["name"] for vm in vms] == fleet.names
    assert not any(vm["status"].get("stateChangeRequests") for vm in vms)


def test_thousand_vms_start_and_stop_while_the_server_is_killed_ten_times(tmp_path: Path) -> None:
    with run_fleet(tmp_path, SIZE) as fleet:
        for number in fleet.create():
            if number in (300, 700):
                fleet.kill()
        fleet.wait(lambda: fleet.count_states() == {"Stopped": SIZE}, "created")
        for number in fleet.act("start"):
            if number in (100, 500, 900):
                fleet.kill()
        fleet.wait(lambda: fleet.count_states() == {"Running": SIZE}, "started")
        check_running(fleet)
        for number in fleet.act("stop"):
            if number in (200, 800):
                fleet.kill()
        fleet.wait(lambda: fleet.count_states() == {"Stopped": SIZE}, "stopped")
        check_stopped(fleet)
        assert sum(1 for _ in fleet.act("start")) == SIZE
        fleet.wait(lambda: fleet.count_states() == {"Running": SIZE}, "started again")
        check_running(fleet)
        code, answer = fleet.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
        assert code == 200, answer
        for left in (SIZE * 9 // 10, SIZE // 2, SIZE // 10):
            fleet.wait(lambda left=left: len(fleet.list(VIRTUAL_MACHINES)) <= left, "deleted")  # type: ignore[misc]
            fleet.kill()
        fleet.wait(lambda: fleet.request("GET", f"/api/v1/namespaces/{NAMESPACE}")[0] == 404, "all gone")
        assert fleet.kills == 10
        assert [
            path for path in (VIRTUAL_MACHINES, VIRTUAL_MACHINE_INSTANCES, REVISIONS, SIZES, EVENTS) if fleet.list(path)
        ] == []
    sound = call_virtshape("check", "--data-dir", fleet.directory)
    assert sound.returncode == 0, sound.stderr
