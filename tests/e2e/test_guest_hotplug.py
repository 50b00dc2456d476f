"""Volumes of running guests, attached and detached with addvolume and removevolume, as the guests see them."""

import contextlib
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.e2e.test_guest_changes import WEB, add_network
from tests.e2e.test_guest_disks import build_core
from tests.support.demoguests import ACTIONS, KUBEVIRT, Guests, build_guest, eventually
from tests.support.upprocess import System

from virtshape.api.model import JsonObject

NAME = "hotplugged"


def build_claim(name: str, size: str = "16Mi") -> JsonObject:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return build_core("PersistentVolumeClaim", name, spec=spec)


def call(guests: Guests, kind: str, name: str, action: str, options: JsonObject) -> None:
    """Send addvolume or removevolume, which must be accepted."""
    headers = {"Authorization": f"Bearer {guests.system.config['token']}"}
    with contextlib.closing(guests.system.connect()) as connection:
        connection.request("PUT", f"{ACTIONS}/{kind}/{name}/{action}", json.dumps(options), headers)
        answer = connection.getresponse()
        assert answer.status == 202, answer.read()


def build_options(claim: str, *, bus: str = "scsi", serial: str = "") -> JsonObject:
    disk = {"disk": {"bus": bus}, "serial": serial or claim}
    return {"name": claim, "disk": disk, "volumeSource": {"persistentVolumeClaim": {"claimName": claim}}}


def find_disk(guests: Guests, name: str, serial: str) -> JsonObject | None:
    """Return a disk as the running guest reports it, or None if the guest does not have it."""
    disks = eventually(lambda: read_disks(guests, name), lambda: f"{name} does not list its disks")
    return next((disk for disk in disks if disk.get("serial") == serial), None)


def wait_for_disk(guests: Guests, name: str, serial: str) -> None:
    """Wait until the running guest has found a disk, which it does some time after the disk is attached."""
    eventually(
        lambda: find_disk(guests, name, serial), lambda: f"the guest has no {serial}: {read_disks(guests, name)}"
    )


def read_disks(guests: Guests, name: str) -> list[JsonObject] | None:
    """Return the disks of the guest; None if one disappears while the guest lists them."""
    try:
        disks: list[JsonObject] = guests.read_now(name)["disks"]
    except json.JSONDecodeError:
        return None
    return disks


def read_volumes(guests: Guests, name: str) -> dict[str, JsonObject]:
    vmi = guests.vmi(name) or {}
    return {one["name"]: one for one in vmi.get("status", {}).get("volumeStatus", [])}


def wait_for_phase(guests: Guests, name: str, volume: str, phase: str) -> JsonObject:
    def probe() -> JsonObject | None:
        found = read_volumes(guests, name).get(volume)
        return found if found is not None and found.get("phase") == phase else None

    return eventually(probe, lambda: f"{volume} is not {phase}: {json.dumps(read_volumes(guests, name), indent=1)}")


def remove(guests: Guests, vm: str, name: str) -> None:
    """Wait until the guest has the disk, detach it, and wait until the instance's status no longer lists it."""
    wait_for_disk(guests, vm, name)
    call(guests, "virtualmachines", vm, "removevolume", {"name": name})
    eventually(lambda: name not in read_volumes(guests, vm) or None, lambda: str(read_volumes(guests, vm)))


@pytest.fixture(scope="module")
def vm(guests: Guests) -> str:
    guests.create(add_network(build_guest(NAME, domain={"devices": WEB})))
    guests.wait_for_phase(NAME, "Running")
    guests.wait_for_text(NAME, "eth0 has")
    return NAME


@pytest.mark.parametrize("bus", ["scsi", "virtio"])
def test_guest_has_an_added_volume_until_it_is_removed(guests: Guests, vm: str, bus: str) -> None:
    claim = f"data-{bus}"
    guests.create(build_claim(claim))
    uid = guests.wait_for_phase(vm, "Running")["metadata"]["uid"]
    assert find_disk(guests, vm, claim) is None

    call(guests, "virtualmachines", vm, "addvolume", build_options(claim, bus=bus))
    status = wait_for_phase(guests, vm, claim, "Ready")
    assert status["reason"] == "VolumeReady"
    assert status["message"] == f"Successfully attach hotplugged volume {claim} to VM"
    assert (status["target"][:2], status["hotplugVolume"]) == ("sd" if bus == "scsi" else "vd", {})
    wait_for_disk(guests, vm, claim)
    template = guests.vm(vm)["spec"]["template"]["spec"]
    assert template["volumes"][-1] == {
        "name": claim,
        "persistentVolumeClaim": {"claimName": claim, "hotpluggable": True},
    }
    assert "RestartRequired" not in guests.conditions(vm, "virtualmachines")

    call(guests, "virtualmachines", vm, "removevolume", {"name": claim})
    eventually(
        lambda: find_disk(guests, vm, claim) is None or None, lambda: f"the guest has {claim}: {read_disks(guests, vm)}"
    )
    eventually(lambda: claim not in read_volumes(guests, vm) or None, lambda: str(read_volumes(guests, vm)))
    guests.wait_for_event_text(vm, f"Detached hotplugged volume {claim} from VM")
    assert all(one["name"] != claim for one in guests.vm(vm)["spec"]["template"]["spec"]["volumes"])
    assert guests.wait_for_phase(vm, "Running")["metadata"]["uid"] == uid
    assert "RestartRequired" not in guests.conditions(vm, "virtualmachines")


def test_volume_with_a_missing_claim_is_attached_once_the_claim_exists(guests: Guests, vm: str) -> None:
    call(guests, "virtualmachines", vm, "addvolume", build_options("late"))
    status = wait_for_phase(guests, vm, "late", "Pending")
    assert status["message"] == "PersistentVolumeClaim late not found or not populated"
    guests.wait_for_event_text(vm, "PersistentVolumeClaim late not found or not populated")
    guests.create(build_claim("late"))
    wait_for_phase(guests, vm, "late", "Ready")
    remove(guests, vm, "late")


def test_detached_claim_can_be_attached_again(guests: Guests, vm: str) -> None:
    guests.create(build_claim("again"))
    for _ in range(2):
        call(guests, "virtualmachines", vm, "addvolume", build_options("again"))
        wait_for_phase(guests, vm, "again", "Ready")
        remove(guests, vm, "again")


def test_claim_in_use_by_another_guest_is_attached_once_it_is_free(guests: Guests, vm: str) -> None:
    guests.create(build_claim("taken"))
    volumes: list[JsonObject] = [{"name": "taken", "persistentVolumeClaim": {"claimName": "taken"}}]
    guests.create(build_guest("holder", volumes=volumes))
    guests.wait_for_phase("holder", "Running")
    call(guests, "virtualmachines", vm, "addvolume", build_options("taken"))
    status = wait_for_phase(guests, vm, "taken", "Bound")
    assert status["reason"] == "ClaimInUse"
    guests.delete("holder")
    wait_for_phase(guests, vm, "taken", "Ready")
    remove(guests, vm, "taken")


def test_volumes_can_be_changed_after_the_launcher_process_is_replaced(guests: Guests, vm: str) -> None:
    for name in ("early", "later"):
        guests.create(build_claim(name))
    call(guests, "virtualmachines", vm, "addvolume", build_options("early"))
    wait_for_phase(guests, vm, "early", "Ready")
    uid = guests.wait_for_phase(vm, "Running")["metadata"]["uid"]
    report = guests.system.directory / "guests" / uid / "report.json"

    def read_pid() -> int:
        pid: int = json.loads(report.read_bytes())["launcher_pid"]
        return pid

    before = read_pid()
    os.kill(before, signal.SIGKILL)
    eventually(lambda: read_pid() != before or None, lambda: "no launcher process took over")
    call(guests, "virtualmachines", vm, "addvolume", build_options("later"))
    wait_for_phase(guests, vm, "later", "Ready")
    for name in ("early", "later"):
        remove(guests, vm, name)
    assert guests.wait_for_phase(vm, "Running")["metadata"]["uid"] == uid


def test_attached_disk_survives_restarts_of_the_server_and_of_the_guest(guests: Guests, tmp_path: Path) -> None:
    other = tmp_path / "data"
    shutil.copytree(guests.system.directory / "images", other / "images")
    with System(other, "--launcher", "qemu") as system:
        first = Guests(system)
        first.create(build_claim("kept"), add_network(build_guest("lasting", domain={"devices": WEB})))
        uid = first.wait_for_phase("lasting", "Running")["metadata"]["uid"]
        call(first, "virtualmachines", "lasting", "addvolume", build_options("kept"))
        wait_for_phase(first, "lasting", "kept", "Ready")
        system.stop(signal.SIGKILL)
    with System(other, "--launcher", "qemu") as system:
        second = Guests(system)
        wait_for_phase(second, "lasting", "kept", "Ready")
        assert second.wait_for_phase("lasting", "Running")["metadata"]["uid"] == uid
        second.wait_for_text("lasting", "eth0 has")
        wait_for_disk(second, "lasting", "kept")
        second.act("virtualmachines", "lasting", "restart")
        second.wait_for_phase("lasting", "Running", other_than=uid)
        wait_for_phase(second, "lasting", "kept", "Ready")
        second.wait_for_text("lasting", "eth0 has")
        wait_for_disk(second, "lasting", "kept")
        call(second, "virtualmachines", "lasting", "removevolume", {"name": "kept"})
        eventually(
            lambda: find_disk(second, "lasting", "kept") is None or None,
            lambda: f"the guest has the disk: {read_disks(second, 'lasting')}",
        )
        second.delete("lasting")
    assert not any((other / "guests").iterdir())


def test_volume_is_added_to_an_instance_without_a_vm(guests: Guests) -> None:
    guests.create(build_claim("own"))
    tree = build_guest("alone")
    spec = tree["spec"]["template"]["spec"]
    code, answer = guests.system.request(
        "POST",
        f"{KUBEVIRT}/virtualmachineinstances",
        {**tree, "kind": "VirtualMachineInstance", "spec": spec},
    )
    assert code == 201, answer
    guests.wait_for_phase("alone", "Running")
    call(guests, "virtualmachineinstances", "alone", "addvolume", build_options("own"))
    wait_for_phase(guests, "alone", "own", "Ready")
    call(guests, "virtualmachineinstances", "alone", "removevolume", {"name": "own"})
    guests.wait_for_event_text("alone", "Detached hotplugged volume own from VM")
    guests.system.request("DELETE", f"{KUBEVIRT}/virtualmachineinstances/alone")
    guests.wait_until_gone("alone")
