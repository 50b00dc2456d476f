"""Guests on a bridge of the machine are reachable there, and their devices are removed when they are deleted."""

import json
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.bridges import create_bridge, list_bridge_ports
from tests.support.demoguests import TIMEOUT, Guests, build_guest, eventually

from virtshape.api.model import JsonObject

BRIDGE = "vstest0"
HERE, THERE = "10.213.7.1", "10.213.7.2"
PLUGGED = f"""\
#!/bin/sh
ip addr add {THERE}/24 dev eth0
echo "eth0 is on the bridge"
"""


def build_plugged(name: str) -> JsonObject:
    """Return a VM whose only interface has several queues and is on the network `office` of the machine."""
    tree = build_guest(
        name,
        domain={
            "cpu": {"cores": 2},
            "memory": {"guest": "192Mi"},
            "devices": {
                "disks": [{"name": name, "disk": {"bus": "virtio"}} for name in ("root", "seed")],
                "networkInterfaceMultiqueue": True,
                "interfaces": [{"name": "lan", "bridge": {}, "macAddress": "02:00:5e:10:00:07"}],
            },
        },
        volumes=[{"name": "seed", "cloudInitNoCloud": {"userData": PLUGGED}}],
    )
    tree["spec"]["template"]["spec"]["networks"] = [{"name": "lan", "multus": {"networkName": "office"}}]
    return tree


@pytest.fixture
def settings(guests: Guests) -> Iterator[Path]:
    """The server's configuration file, which maps the network `office` to the bridge."""
    path = guests.system.directory / "config.yaml"
    path.write_text(json.dumps({"networks": {"office": BRIDGE}}))
    yield path
    path.unlink()


def _read_shape() -> JsonObject | None:
    try:
        with urllib.request.urlopen(f"http://{THERE}/shape.json", timeout=TIMEOUT) as answer:
            shape: JsonObject = json.load(answer)
            return shape
    except OSError:  # the interface is up, but ARP has not resolved it yet
        return None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create tap devices")
@pytest.mark.usefixtures("settings")
def test_guest_starts_once_its_bridge_exists(guests: Guests) -> None:
    guests.create(build_plugged("plugged"))
    message = f"the network of the interface lan is not ready: this host has no bridge {BRIDGE}"
    assert guests.wait_for_condition("plugged", "Synchronized", "NetworkNotReady")["message"] == message
    with create_bridge(BRIDGE, HERE):
        guests.wait_for_text("plugged", "eth0 is on the bridge")
        (card,) = eventually(_read_shape, lambda: f"no response from {THERE}")["nics"]
        assert (card["driver"], card["mac"], card["queues"]) == ("virtio_net", "02:00:5e:10:00:07", 2)
        (device,) = list_bridge_ports(BRIDGE)
        guests.delete("plugged")
        eventually(
            lambda: None if Path(f"/sys/class/net/{device}").exists() else True, lambda: f"{device} was not removed"
        )


def test_vm_with_an_unconfigured_network_is_refused(guests: Guests) -> None:
    guests.create(build_plugged("unplugged"))
    reported = guests.wait_for_condition("unplugged", "Synchronized", "NotPossibleHere")
    assert "spec.networks[0].multus: this host has no network 'office'" in reported["message"]
    guests.delete("unplugged")
