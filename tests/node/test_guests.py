"""Guests in pods of a real node: their creation, shape, streams, state, size and disks."""

import pytest
from tests.node.guests import GuestNode
from tests.support.demoguests import eventually

from virtshape.api.model import JsonObject

NAME = "web"


def test_vm_of_the_example_has_the_topology_of_its_instance_type(example: GuestNode) -> None:
    example.wait_until_running("demo")
    shape = example.read_shape("demo")
    assert (shape["sockets"], shape["cores"], shape["threads"], shape["memoryMiB"]) == (2, 1, 2, 256)
    example.delete("demo", wait=False)


def test_guest_has_the_topology_and_memory_of_its_vm(web: GuestNode) -> None:
    web.wait_until_running(NAME)
    shape = web.read_shape(NAME)
    assert (shape["sockets"], shape["cores"], shape["threads"], shape["memoryMiB"]) == (2, 1, 1, 1024)


def test_vm_and_instance_are_running_on_the_node(web: GuestNode) -> None:
    web.wait_for_status(NAME, "Running")
    status = web.get_instance(NAME)["status"]
    (pod,) = web.list_pods(NAME)
    assert (status["phase"], status["nodeName"]) == ("Running", "node")
    assert status["interfaces"][0]["ipAddress"] == pod["status"]["podIP"]


def test_console_log_shows_that_cloud_init_ran_in_the_guest(web: GuestNode) -> None:
    web.wait_for_text(NAME, f"seed ran in {NAME}")
    assert f"seed ran in {NAME}" in web.virtctl.read_log(NAME)


def test_user_runs_a_command_at_the_console(web: GuestNode) -> None:
    with web.virtctl.open("console", NAME) as terminal:
        terminal.wait_for(rb"Successfully connected")
        terminal.type(b"\r")
        terminal.wait_for(rb"demo# ")
        terminal.type(b"echo $((6 * 7)) here\r")
        terminal.wait_for(rb"\r\n42 here\r\n")
        terminal.type(b"\x1d")
        assert terminal.end() == 0


def test_guest_is_paused_and_unpaused(web: GuestNode) -> None:
    for action, status in (("pause", "Paused"), ("unpause", "Running")):
        web.virtctl.print(action, "vm", NAME)
        web.wait_for_status(NAME, status)


def test_running_guest_gets_more_vcpus_and_memory_while_a_port_is_forwarded(web: GuestNode) -> None:
    uid = web.get_instance(NAME)["metadata"]["uid"]
    with web.forward_port(NAME) as read_now:
        before = eventually(read_now, lambda: web.describe(NAME))
        (pod,) = web.list_pods(NAME)
        web.patch(NAME, {"cpu": {"sockets": 3}, "memory": {"guest": "1536Mi"}})

        def look() -> JsonObject | None:
            found = read_now()
            is_grown = found is not None and found["availableMiB"] > before["availableMiB"] + 400
            return found if is_grown and found is not None and found["sockets"] == 3 else None

        eventually(look, lambda: f"it does not grow: {read_now()} {web.describe(NAME)}")
    assert before["sockets"] == 2
    for reported in ("{.status.currentCPUTopology.sockets}=3", "{.status.memory.guestCurrent}=1536Mi"):
        web.kubectl("wait", f"vmi/{NAME}", f"--for=jsonpath={reported}", "--timeout=240s")
    assert web.get_instance(NAME)["metadata"]["uid"] == uid
    (grown,) = web.list_pods(NAME)
    assert grown["metadata"]["uid"] == pod["metadata"]["uid"]
    assert get_requests(pod) == ("200m", "1302Mi")
    assert get_requests(grown) == ("300m", "1823Mi")


def get_requests(pod: JsonObject) -> tuple[str, str]:
    """Return the CPU and memory requests that the node has applied to a pod."""
    requests = pod["status"]["containerStatuses"][0]["resources"]["requests"]
    return requests["cpu"], requests["memory"]


def test_pod_resize_that_does_not_fit_on_the_node_requires_a_restart(web: GuestNode) -> None:
    web.patch(NAME, {"resources": {"requests": {"cpu": "1000"}}})
    web.wait_for_restart_reason(NAME, "node didn't have enough allocatable resources: cpu, requested: 1000000")
    web.patch(NAME, {"resources": {"requests": {"cpu": None}}})


def test_reducing_the_number_of_vcpus_requires_a_restart(web: GuestNode) -> None:
    web.patch(NAME, {"cpu": {"sockets": 2}})
    web.wait_for_restart_reason(NAME, "Reduction of CPU socket count requires a restart: 3 to 2")
    assert web.get_instance(NAME)["status"]["currentCPUTopology"] == {"sockets": 3}


def test_restart_applies_the_new_size_and_preserves_the_disk(web: GuestNode) -> None:
    before = web.wait_until_running(NAME)
    with web.virtctl.open("console", NAME) as terminal:
        terminal.wait_for(rb"Successfully connected")
        terminal.type(b"\recho kept > /tmp/note\r")
        terminal.type(b"dd if=/tmp/note of=/dev/vda bs=512 seek=40 conv=sync 2>/dev/null; sync; echo stored $?\r")
        terminal.wait_for(rb"\r\nstored 0\r\n")
        terminal.type(b"\x1d")
        terminal.end()
    web.virtctl.print("restart", NAME)
    web.wait_until_running(NAME, other_than=before)
    shape = web.read_shape(NAME)
    assert (shape["sockets"], shape["memoryMiB"]) == (2, 1536)
    with web.virtctl.open("console", NAME) as terminal:
        terminal.wait_for(rb"Successfully connected")
        terminal.type(b"\rdd if=/dev/vda bs=512 skip=40 count=1 2>/dev/null | head -c 4; echo\r")
        terminal.wait_for(rb"\r\nkept\r\n")
        terminal.type(b"\x1d")
        terminal.end()


def test_stopped_vm_has_no_pod(web: GuestNode) -> None:
    web.virtctl.print("stop", NAME)
    web.wait_for_status(NAME, "Stopped")
    assert web.list_pods(NAME) == []
    web.delete(NAME)


def test_guest_with_efi_and_tpm_boots_from_a_block_device(secure: GuestNode) -> None:
    secure.wait_until_running("secure")
    shape = secure.read_shape("secure")
    assert (shape["efi"], shape["tpm"], shape["tpmVersion"]) == (True, True, 2)
    secure.delete("secure")


@pytest.mark.usefixtures("secure")
def test_inaccessible_block_device_is_reported_with_the_required_container_runtime_setting(guests: GuestNode) -> None:
    with guests.node.without_device_ownership():
        guests.create("barred", "block", strategy="Once")
        message = wait_for_message(guests, "barred", "block device")
    assert message == (
        "spec.volumes[0]: user 107 has no permission to open the block device of this claim: set "
        "device_ownership_from_security_context = true in the configuration of the node's container runtime "
        "(containerd or CRI-O), restart it, and start the VM again"
    )
    assert guests.get_instance("barred")["status"]["reason"] == "VolumesNotReady"
    guests.delete("barred")


def test_vm_reports_that_its_pod_exceeds_the_quota(guests: GuestNode) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small"},
        "spec": {"hard": {"requests.memory": "100Mi"}},
    }
    guests.kubectl.apply(quota)
    # Without this status, the API server does not enforce the quota yet.
    eventually(
        lambda: guests.kubectl.get("resourcequota", "small").get("status", {}).get("used"),
        lambda: str(guests.kubectl.get("resourcequota", "small")),
    )
    guests.create("refused")
    assert "requests.memory" in wait_for_message(guests, "refused", "exceeded quota")
    guests.delete("refused")
    guests.kubectl("delete", "resourcequota", "small")


def wait_for_message(guests: GuestNode, name: str, text: str) -> str:
    """Wait until the message of a condition of an instance contains this text, and return the message."""

    def look() -> str | None:
        ran = guests.kubectl.run("get", "vmi", name, "-o", "json")
        conditions = ran.tree.get("status", {}).get("conditions", []) if ran.status == 0 else []
        return next((each["message"] for each in conditions if text in each.get("message", "")), None)

    return eventually(look, lambda: guests.describe(name), pause=0.5)
