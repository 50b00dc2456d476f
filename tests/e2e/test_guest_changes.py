"""Changes to running guests: added vCPUs and memory, open ports, and persistent state."""

import urllib.error
import urllib.request

import pytest
from tests.support.demoguests import (
    FULL_DEMO,
    KUBEVIRT,
    TIMEOUT,
    Guests,
    build_guest,
    build_instancetype_or_preference,
    eventually,
)

from virtshape.api.model import JsonObject

WEB: JsonObject = {"interfaces": [{"name": "default", "masquerade": {}, "ports": [{"port": 80}, {"port": 7}]}]}
POD: list[JsonObject] = [{"name": "default", "pod": {}}]


def add_network(tree: JsonObject) -> JsonObject:
    tree["spec"]["template"]["spec"]["networks"] = POD
    return tree


def test_vcpus_and_memory_added_to_a_vm_are_hotplugged_into_its_guest(guests: Guests) -> None:
    domain: JsonObject = {
        "cpu": {"sockets": 1, "maxSockets": 4},
        "memory": {"guest": "1Gi", "maxGuest": "2Gi"},
        "devices": WEB,
    }
    guests.create(add_network(build_guest("growing", domain=domain)))
    uid = guests.wait_for_phase("growing", "Running")["metadata"]["uid"]
    before = guests.read_shape("growing")
    guests.wait_for_text("growing", "eth0 has")
    change = {"cpu": {"sockets": 3}, "memory": {"guest": "1536Mi"}}
    guests.patch(f"{KUBEVIRT}/virtualmachines/growing", spec={"template": {"spec": {"domain": change}}})

    def probe() -> JsonObject | None:
        found = guests.read_now("growing")
        return found if found["sockets"] == 3 and found["availableMiB"] > before["availableMiB"] + 400 else None

    eventually(probe, lambda: f"the guest has not grown: {guests.read_now('growing')}")
    sizes = {"guestAtBoot": "1Gi", "guestRequested": "1536Mi", "guestCurrent": "1536Mi"}

    def find_reported() -> JsonObject | None:
        vmi = guests.wait_for_phase("growing", "Running")
        return vmi if vmi["status"]["memory"] == sizes else None

    vmi = eventually(find_reported, lambda: f"the new size is not reported: {guests.vmi('growing')}")
    assert (vmi["metadata"]["uid"], before["sockets"]) == (uid, 1)
    assert vmi["status"]["currentCPUTopology"]["sockets"] == 3
    assert "RestartRequired" not in guests.conditions("growing", "virtualmachines")
    guests.delete("growing")


def test_larger_instance_type_is_applied_to_the_running_guest_up_to_its_hotplug_limits(guests: Guests) -> None:
    """Neither the VM nor its instance types set maxSockets or maxGuest."""
    for name, vcpus, memory in (("s", 1, "1Gi"), ("m", 3, "1536Mi"), ("l", 8, "8Gi")):
        spec = {"cpu": {"guest": vcpus}, "memory": {"guest": memory}}
        guests.create(build_instancetype_or_preference("Instancetype", name, **spec))
    kind = "VirtualMachineInstancetype"
    tree = add_network(build_guest("typed", domain={"devices": WEB}, instancetype={"name": "s", "kind": kind}))
    del tree["spec"]["template"]["spec"]["domain"]["memory"]
    guests.create(tree)
    uid = guests.wait_for_phase("typed", "Running")["metadata"]["uid"]
    before = guests.read_shape("typed")
    guests.wait_for_text("typed", "eth0 has")

    def switch(name: str) -> None:
        guests.patch(f"{KUBEVIRT}/virtualmachines/typed", spec={"instancetype": {"name": name}})

    def probe() -> JsonObject | None:
        found = guests.read_now("typed")
        return found if found["sockets"] == 3 and found["availableMiB"] > before["availableMiB"] + 400 else None

    switch("m")
    eventually(probe, lambda: f"the guest has not grown: {guests.read_now('typed')}")
    assert (before["sockets"], guests.wait_for_phase("typed", "Running")["metadata"]["uid"]) == (1, uid)
    assert "RestartRequired" not in guests.conditions("typed", "virtualmachines")

    def find_reason() -> str | None:
        required = guests.conditions("typed", "virtualmachines").get("RestartRequired")
        return required["message"] if required is not None else None

    switch("l")
    reason = eventually(find_reason, lambda: f"no restart is required: {guests.vm('typed')}")
    assert "8 sockets wanted, the guest was started with room for 4" in reason
    assert "8Gi wanted, the guest was started with room for 4Gi" in reason
    assert guests.read_now("typed")["sockets"] == 3
    guests.delete("typed")


def test_only_the_ports_of_an_interface_are_open_on_loopback(guests: Guests) -> None:
    guests.create(add_network(build_guest("web", domain={"memory": {"guest": "192Mi"}, "devices": WEB})))
    guests.wait_for_text("web", "eth0 has")
    ports = guests.wait_for_ports("web")
    assert [*ports] == [80, 7]
    assert all(here.startswith("127.0.0.1:") for here in ports.values())
    assert guests.read_now("web")["memoryMiB"] == 192
    guests.delete("web")
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://{ports[80]}/", timeout=TIMEOUT)


VARIABLE = "/sys/firmware/efi/efivars/Note-5e2f0c77-1111-4222-8333-94a0b1c2d3e4"
NOTE = f"""\
#!/bin/sh
if [ -e {VARIABLE} ]; then
    echo "the firmware remembers: $(tail -c +5 {VARIABLE})"
else
    printf '\\007\\000\\000\\000good morning' >{VARIABLE} && echo "a note was left"
fi
"""


def test_firmware_and_tpm_state_survives_a_restart_and_is_deleted_with_the_vm(guests: Guests) -> None:
    domain: JsonObject = {
        "memory": {"guest": "384Mi"},
        "features": {"smm": {}},
        "firmware": {"bootloader": {"efi": {"secureBoot": True, "persistent": True}}},
        "devices": {"tpm": {"persistent": True}},
    }
    seed = {"name": "seed", "cloudInitNoCloud": {"userData": NOTE}}
    guests.create(build_guest("lasting", FULL_DEMO, domain=domain, volumes=[seed]))
    guests.wait_for_text("lasting", "a note was left")
    kept = guests.system.directory / "state" / guests.vm("lasting")["metadata"]["uid"]
    assert sorted(path.name for path in kept.rglob("*") if path.is_file() and "lock" not in path.name)
    uid = guests.wait_for_phase("lasting", "Running")["metadata"]["uid"]
    guests.act("virtualmachines", "lasting", "restart")
    guests.wait_for_phase("lasting", "Running", other_than=uid)
    guests.wait_for_text("lasting", "the firmware remembers: good morning")
    guests.delete("lasting")
    eventually(lambda: None if kept.exists() else True, lambda: f"{kept} was not deleted")
