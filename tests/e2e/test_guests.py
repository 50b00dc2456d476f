"""Real guests: their hardware matches the instance, and they stop as requested."""

import json
import os
import re
import shutil
import signal
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.demo import PROMPT
from tests.support.demoguests import (
    FULL_DEMO,
    INSTANCETYPES,
    KUBEVIRT,
    Guests,
    build_guest,
    build_instancetype_or_preference,
)
from tests.support.terminals import Terminal
from tests.support.upprocess import COMMAND, System

from virtshape.api.model import JsonObject
from virtshape.api.quantity import Quantity
from virtshape.launcher.node.hardware import measure_memory

TOPOLOGIES: dict[str, tuple[JsonObject, JsonObject | None, tuple[int, int, int]]] = {
    "three-two-one": ({"topology": {"sockets": 3, "cores": 2, "threads": 1}}, None, (3, 2, 1)),
    "cores": ({"guest": 2}, {"preferredCPUTopology": "cores"}, (1, 2, 1)),
    "threads": ({"guest": 2}, {"preferredCPUTopology": "threads"}, (1, 1, 2)),
    "sockets": ({"guest": 2}, {"preferredCPUTopology": "sockets"}, (2, 1, 1)),
}


@pytest.mark.parametrize(("cpu", "preferred", "shape"), TOPOLOGIES.values(), ids=TOPOLOGIES.keys())
def test_guest_has_the_topology_of_its_instance_type_and_preference(
    guests: Guests, cpu: JsonObject, preferred: JsonObject | None, shape: tuple[int, int, int]
) -> None:
    name = f"topology-{'-'.join(map(str, shape))}"
    guests.create(build_instancetype_or_preference("Instancetype", name, cpu=cpu, memory={"guest": "192Mi"}))
    spec: JsonObject = {"instancetype": {"kind": "VirtualMachineInstancetype", "name": name}}
    if preferred is not None:
        guests.create(build_instancetype_or_preference("Preference", name, cpu=preferred))
        spec["preference"] = {"kind": "VirtualMachinePreference", "name": name}
    tree = build_guest(name, **spec)
    del tree["spec"]["template"]["spec"]["domain"]["memory"]
    guests.create(tree)
    vmi = guests.wait_for_phase(name, "Running")
    found = guests.read_shape(name)
    assert (found["sockets"], found["cores"], found["threads"]) == shape
    assert found["memoryMiB"] == 192
    assert found["uuid"] == vmi["spec"]["domain"]["firmware"]["uuid"]
    current = vmi["status"]["currentCPUTopology"]
    assert (current["sockets"], current["cores"], current["threads"]) == shape
    guests.delete(name)


@pytest.mark.parametrize(("preferred", "shape"), [("cores", (1, 3, 1)), ("threads", (1, 1, 3)), ("sockets", (3, 1, 1))])
def test_guest_has_the_vcpus_of_cpu_guest_in_the_preferred_topology(
    guests: Guests, preferred: str, shape: tuple[int, int, int]
) -> None:
    name = f"own-{preferred}"
    guests.create(build_instancetype_or_preference("Preference", name, cpu={"preferredCPUTopology": preferred}))
    domain = {"cpu": {"guest": 3}, "memory": {"guest": "192Mi"}}
    guests.create(build_guest(name, domain=domain, preference={"kind": "VirtualMachinePreference", "name": name}))
    found = guests.read_shape(name)
    assert (found["sockets"], found["cores"], found["threads"]) == shape
    guests.delete(name)


def test_disk_bus_in_the_vm_overrides_the_preferred_disk_bus(guests: Guests) -> None:
    guests.create(build_instancetype_or_preference("Preference", "sata", devices={"preferredDiskBus": "sata"}))
    disks: list[JsonObject] = [
        {"name": "root", "disk": {}, "bootOrder": 1},
        {"name": "fast", "disk": {"bus": "virtio"}, "serial": "FAST01"},
        {"name": "seed", "disk": {}},
    ]
    volumes: list[JsonObject] = [
        {"name": "fast", "emptyDisk": {"capacity": "64Mi"}},
        {"name": "seed", "cloudInitNoCloud": {"userData": "#!/bin/sh\necho seeded by the VM\n"}},
    ]
    domain: JsonObject = {"memory": {"guest": "256Mi"}, "devices": {"disks": disks}}
    preference = {"kind": "VirtualMachinePreference", "name": "sata"}
    guests.create(build_guest("disks", FULL_DEMO, domain=domain, volumes=volumes, preference=preference))
    found = guests.read_shape("disks")
    drivers = sorted(disk["driver"] for disk in found["disks"])
    assert drivers == ["ahci", "ahci", "virtio_blk"]
    fast = next(disk for disk in found["disks"] if disk["driver"] == "virtio_blk")
    assert (fast["serial"], fast["bytes"]) == ("FAST01", 64 * 1024**2)
    guests.wait_for_text("disks", "seeded by the VM")
    vmi = guests.wait_for_phase("disks", "Running")
    status = vmi["status"]
    assert {one["name"]: one["target"] for one in status["volumeStatus"]} == {
        "root": "sda",
        "fast": "vda",
        "seed": "sdb",
    }
    assert {status["runtimeUser"]} == find_qemu_users(vmi["spec"]["domain"]["firmware"]["uuid"])
    assert (status["migrationMethod"], status["guestOSInfo"]) == ("BlockMigration", {})
    assert {one["type"]: one["status"] for one in status["conditions"]}["LiveMigratable"] == "False"
    assert not {"activePods", "qosClass", "launcherContainerImageVersion", "migrationTransport"} & status.keys()
    guests.delete("disks")


def find_qemu_users(uuid: str) -> set[int]:
    """Return the users of the QEMU processes with this UUID."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if uuid.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                found.add(process.stat().st_uid)
    return found


WINDOWS_LIKE: JsonObject = {
    "clock": {
        "preferredClockOffset": {"utc": {}},
        "preferredTimer": {
            "hpet": {"present": False},
            "pit": {"tickPolicy": "delay"},
            "rtc": {"tickPolicy": "catchup"},
        },
    },
    "cpu": {"preferredCPUTopology": "cores"},
    "devices": {
        "preferredDiskBus": "sata",
        "preferredInterfaceModel": "e1000",
        "preferredTPM": {},
    },
    "features": {"preferredAcpi": {}, "preferredApic": {}, "preferredSmm": {}},
    "firmware": {"preferredEfi": {"secureBoot": True}},
}


LOOK_FOR_TIMERS = """\
#!/bin/sh
[ -e /sys/firmware/acpi/tables/HPET ] && echo "hpet: yes" || echo "hpet: no"
echo "all is seen"
"""


def test_guest_has_the_firmware_and_devices_of_a_windows_preference(guests: Guests) -> None:
    guests.create(build_instancetype_or_preference("Preference", "windows-like", **WINDOWS_LIKE))
    guests.create(
        build_instancetype_or_preference("Instancetype", "windows-like", cpu={"guest": 2}, memory={"guest": "512Mi"})
    )
    tree = build_guest(
        "windows-like",
        FULL_DEMO,
        volumes=[{"name": "seed", "cloudInitNoCloud": {"userData": LOOK_FOR_TIMERS}}],
        instancetype={"kind": "VirtualMachineInstancetype", "name": "windows-like"},
        preference={"kind": "VirtualMachinePreference", "name": "windows-like"},
    )
    del tree["spec"]["template"]["spec"]["domain"]["memory"]
    guests.create(tree)
    found = guests.read_shape("windows-like")
    assert (found["sockets"], found["cores"], found["threads"]) == (1, 2, 1)
    assert (found["efi"], found["secureBoot"], found["tpm"], found["tpmVersion"]) == (True, True, True, 2)
    assert [nic["driver"] for nic in found["nics"]] == ["e1000"]
    assert [disk["driver"] for disk in found["disks"]] == ["ahci", "ahci"]
    behind = datetime.now(UTC) - datetime.fromisoformat(found["clock"]["rtc"]).replace(tzinfo=UTC)
    assert timedelta() <= behind < timedelta(minutes=10), "the guest's clock must show UTC"
    assert "hpet: no" in guests.wait_for_text("windows-like", "all is seen")
    guests.delete("windows-like")


def test_guest_survives_a_kill_of_its_server_and_restarts_from_the_same_revision(
    guests: Guests, tmp_path: Path
) -> None:
    size = build_instancetype_or_preference("Instancetype", "pinned", cpu={"guest": 1}, memory={"guest": "192Mi"})
    tree = build_guest("pinned", instancetype={"kind": "VirtualMachineInstancetype", "name": "pinned"})
    del tree["spec"]["template"]["spec"]["domain"]["memory"]
    other = tmp_path / "data"
    shutil.copytree(guests.system.directory / "images", other / "images")
    with System(other, "--launcher", "qemu") as system:
        first = Guests(system)
        first.create(size, tree)
        vmi = first.wait_for_phase("pinned", "Running")
        assert first.read_shape("pinned")["sockets"] == 1
        system.stop(signal.SIGKILL)
    with System(other, "--launcher", "qemu") as system:
        second = Guests(system)
        again = second.wait_for_phase("pinned", "Running")
        assert again["metadata"]["uid"] == vmi["metadata"]["uid"]
        assert second.read_shape("pinned")["uuid"] == vmi["spec"]["domain"]["firmware"]["uuid"]
        second.patch(f"{INSTANCETYPES}/virtualmachineinstancetypes/pinned", spec={"cpu": {"guest": 2}})
        second.act("virtualmachines", "pinned", "restart")
        second.wait_for_phase("pinned", "Running", other_than=vmi["metadata"]["uid"])
        found = second.read_shape("pinned")
        assert (found["sockets"], found["uuid"]) == (1, vmi["spec"]["domain"]["firmware"]["uuid"])
        second.delete("pinned")
    assert not any((other / "guests").iterdir())


def test_running_guest_can_be_paused_unpaused_and_shut_down(guests: Guests) -> None:
    guests.create(build_guest("quiet"))
    guests.read_shape("quiet")
    guests.wait_for_phase("quiet", "Running")  # the guest may print its hardware before its status is updated
    guests.act("virtualmachineinstances", "quiet", "pause")
    guests.wait_for_status("quiet", "Paused")
    guests.act("virtualmachineinstances", "quiet", "unpause")
    guests.wait_for_status("quiet", "Running")
    guests.act("virtualmachines", "quiet", "stop")
    guests.wait_for_status("quiet", "Stopped")
    guests.wait_until_gone("quiet")
    guests.delete("quiet")


def test_guest_with_killed_qemu_is_restarted_with_rerun_on_failure(guests: Guests) -> None:
    guests.create(build_guest("fragile", runStrategy="RerunOnFailure"))
    vmi = guests.wait_for_phase("fragile", "Running")
    uid = vmi["metadata"]["uid"]
    pid = _read_qemu_pid(guests.system.directory, uid)
    os.kill(pid, signal.SIGKILL)
    guests.wait_for_phase("fragile", "Running", other_than=uid)
    guests.wait_for_event_text("fragile", "QEMU was killed by SIGKILL")
    guests.delete("fragile")


def test_run_strategy_decides_whether_a_guest_restarts_after_panic_or_shutdown(guests: Guests) -> None:
    domain: JsonObject = {"memory": {"guest": "256Mi"}, "devices": {"panicDevices": [{"model": "isa"}]}}
    guests.create(build_guest("moody", FULL_DEMO, domain=domain, runStrategy="RerunOnFailure"))
    first = _do_inside(guests, "moody", "echo c >/proc/sysrq-trigger")
    guests.wait_for_phase("moody", "Running", other_than=first)
    guests.wait_for_event_text("moody", "the guest's system has panicked")
    _do_inside(guests, "moody", "poweroff -f")
    guests.wait_for_status("moody", "Stopped")
    guests.wait_until_gone("moody")
    guests.patch(f"{KUBEVIRT}/virtualmachines/moody", spec={"runStrategy": "Always"})
    third = _do_inside(guests, "moody", "poweroff -f")
    guests.wait_for_phase("moody", "Running", other_than=third)
    guests.delete("moody")


def _do_inside(guests: Guests, name: str, line: str) -> str:
    """Type a command at the console of a guest and return the uid of its instance."""
    uid: str = guests.wait_for_phase(name, "Running")["metadata"]["uid"]
    guests.wait_for_text(name, PROMPT)
    command = [str(COMMAND.with_name("virtctl")), "console", name]
    with Terminal(command, {"KUBECONFIG": str(guests.system.kubeconfig)}) as terminal:
        terminal.wait_for(rb"Successfully connected")
        terminal.type(f"{line}\r".encode())
        terminal.wait_for(re.escape(line).encode() + rb"\r\n")  # input is lost if the console closes earlier
    return uid


def test_node_reports_the_resources_of_the_machine(guests: Guests) -> None:
    node = guests.wait_for_node()
    offered = node["status"]["capacity"]
    assert (offered["cpu"], Quantity(offered["memory"]).value()) == (
        str(len(os.sched_getaffinity(0))),
        measure_memory(),
    )
    offers = {label.rpartition("/")[0] for label in node["metadata"]["labels"]}
    assert {"machine-type.node.kubevirt.io", "cpu-model.node.kubevirt.io"} <= offers
    assert "machine-type.node.kubevirt.io/q35" in node["metadata"]["labels"]
    (ready,) = [one for one in node["status"]["conditions"] if one["type"] == "Ready"]
    assert ("KVM does not work on this machine" in ready["message"]) is not ("devices.kubevirt.io/kvm" in offered)


def _read_qemu_pid(data: Path, uid: str) -> int:
    pid: int = json.loads((data / "guests" / uid / "report.json").read_text())["qemu_pid"]
    return pid
