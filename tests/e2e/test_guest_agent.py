"""A guest with the QEMU guest agent: information in the instance status and through the API, reboot and shutdown."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.demoguests import ACTIONS, Guests, build_guest, eventually
from tests.support.guestagent import START, build_agent
from tests.support.kubevirt import open_virtctl
from tests.support.upprocess import call_virtshape, wait_until

from virtshape.api.model import JsonObject
from virtshape.launcher.images.errors import ImageError

NAME = "agent"


@pytest.fixture(scope="module")
def reported(guests: Guests, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JsonObject]:
    """An instance whose guest agent has reported its information."""
    try:
        archive = build_agent(tmp_path_factory.mktemp("agent"))
    except ImageError as error:
        pytest.skip(str(error))
        raise
    added = call_virtshape("image", "add", "agent", archive, "--data-dir", guests.system.directory)
    assert added.returncode == 0, added.stderr
    volumes: list[JsonObject] = [
        {"name": "agent", "persistentVolumeClaim": {"claimName": "agent"}},
        {"name": "seed", "cloudInitNoCloud": {"userData": START}},
    ]
    disks = [{"name": name, "disk": {"bus": "virtio"}} for name in ("root", "agent", "seed")]
    domain = {"memory": {"guest": "256Mi"}, "devices": {"disks": disks}}
    guests.create(build_guest(NAME, domain=domain, volumes=volumes, grace=120))
    guests.wait_for_text(NAME, "eth0 has")
    guests.wait_for_text(NAME, "the agent runs")
    yield eventually(lambda: find_reported(guests), lambda: json.dumps(guests.vmi(NAME), indent=1))
    guests.delete(NAME)


def find_reported(guests: Guests) -> JsonObject | None:
    """Return the instance if the agent has reported all information, otherwise None."""
    vmi = guests.vmi(NAME) or {}
    status = vmi.get("status", {})
    cards = [one for one in status.get("interfaces", []) if one.get("interfaceName") == "eth0"]
    has_address = any("10.0.2.15" in one.get("ipAddresses", []) for one in cards)
    return vmi if has_address and status.get("guestOSInfo") else None


def ask(guests: Guests, question: str) -> Any:
    """Return the answer of the guest agent; ask again if an emulated guest takes longer than the server waits."""
    path = f"{ACTIONS}/virtualmachineinstances/{NAME}/{question}"
    answers: list[tuple[int, Any]] = []

    def is_answered() -> bool:
        answers.append(guests.system.request("GET", path))
        return answers[-1][0] == 200

    wait_until(is_answered, lambda: str(answers[-1]))
    return answers[-1][1]


def test_instance_status_has_guest_agent_information(guests: Guests, reported: JsonObject) -> None:
    assert guests.wait_for_condition(NAME, "AgentConnected")["status"] == "True"
    found = reported["status"]["guestOSInfo"]
    kernel = guests.read_shape(NAME)["kernel"]
    assert {
        name: found.get(name) for name in ("id", "name", "prettyName", "versionId", "kernelRelease", "machine")
    } == {
        "id": "demo",
        "name": "Demo",
        "prettyName": "The demo guest 1",
        "versionId": "1",
        "kernelRelease": kernel,
        "machine": "x86_64",
    }
    (card,) = reported["status"]["interfaces"]
    assert (card["name"], card["interfaceName"], card["infoSource"]) == ("default", "eth0", "domain, guest-agent")
    assert "10.0.2.15" in card["ipAddresses"]


def test_guest_agent_information_is_served_by_the_api(guests: Guests, reported: JsonObject) -> None:
    assert reported["metadata"]["name"] == NAME
    assert ask(guests, "guestosinfo")["os"]["prettyName"] == "The demo guest 1"
    assert ask(guests, "userlist")["items"] == []
    (seed,) = [one for one in ask(guests, "filesystemlist")["items"] if one["mountPoint"] == "/run/seed.d"]
    assert (seed["fileSystemType"], seed["diskName"]) == ("iso9660", "vdc")


def test_kubevirts_virtctl_prints_guest_agent_information(guests: Guests, reported: JsonObject) -> None:
    assert reported["metadata"]["name"] == NAME
    virtctl = open_virtctl(guests.system.kubeconfig)

    def show(command: str) -> Any:
        """Return the output of a command; run it again if an emulated guest takes longer than the server waits."""

        def probe() -> Any:
            result = virtctl(command, NAME)
            return result.tree if result.status == 0 else None

        return eventually(probe, lambda: virtctl(command, NAME).err)

    assert show("guestosinfo")["os"]["prettyName"] == "The demo guest 1"
    assert show("userlist")["items"] == []
    assert "/run/seed.d" in [one["mountPoint"] for one in show("fslist")["items"]]


def test_agent_reboots_and_shuts_down_the_guest(guests: Guests, reported: JsonObject) -> None:
    guests.act("virtualmachineinstances", NAME, "softreboot")
    guests.wait_for_text(NAME, "the agent was asked to reboot")
    eventually(
        lambda: guests.read_console(NAME).count("the agent runs") == 2 or None, lambda: guests.read_event_text(NAME)
    )
    guests.wait_for_condition(NAME, "AgentConnected")
    assert (guests.vmi(NAME) or {})["metadata"]["uid"] == reported["metadata"]["uid"], "the instance must stay the same"
    guests.act("virtualmachines", NAME, "stop")
    guests.wait_for_status(NAME, "Stopped")
