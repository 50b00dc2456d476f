"""Ports that an instance declares, and the command that forwards them."""

import itertools
import json
import socket
from pathlib import Path

from virtshape.launcher.netns.pasta import PortForward, build_command
from virtshape.launcher.netns.ports import choose_ports, list_forwards, parse_launch_request

ORDER = {
    "host": {"isolation": "namespace"},
    "vmi": {
        "spec": {
            "domain": {
                "devices": {
                    "interfaces": [
                        {"name": "default", "ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}]},
                        {"name": "other", "portRanges": [{"start": 8000, "end": 8001}]},
                        {"name": "many", "portRanges": [{"start": 1, "end": 65535}]},
                        {"name": "open"},
                    ]
                }
            }
        }
    },
}


def test_declared_ports_are_parsed_from_a_launch_request() -> None:
    assert parse_launch_request(json.dumps(ORDER).encode()) == (
        "namespace",
        [("default", "tcp", 80), ("default", "udp", 53), ("other", "tcp", 8000), ("other", "tcp", 8001)],
    )


def test_guest_without_a_network_mode_in_its_launch_request_is_not_isolated() -> None:
    assert parse_launch_request(b'{"vmi": {"spec": {"domain": {}}}}') == ("none", [])


def test_declared_port_has_the_same_host_port_if_it_is_free_and_unprivileged() -> None:
    with socket.socket() as taken, socket.socket() as probe:
        for one in (taken, probe):
            one.bind(("127.0.0.1", 0))
        free, used = probe.getsockname()[1], taken.getsockname()[1]
        probe.close()
        chosen = choose_ports([("default", "tcp", free), ("default", "tcp", used), ("default", "tcp", 80)])
    assert chosen["default", "tcp", free] == free
    assert len({free, used, 80, *chosen.values()}) == 5


def test_pasta_forwards_only_declared_ports_on_loopback() -> None:
    forwards = list_forwards({("default", "tcp", 80): 8080, ("default", "udp", 53): 5353})
    assert forwards == [PortForward("tcp", 8080), PortForward("udp", 5353)]
    command = build_command(Path("/guest"), 42, forwards)
    assert command[-1] == "42"
    assert "--no-map-gw" in command
    options = dict(itertools.pairwise(command))
    assert [options[name] for name in ("-t", "-u", "-T", "-U")] == ["127.0.0.1/8080", "127.0.0.1/5353", "none", "none"]
    options = dict(zip(build_command(Path("/guest"), 42), build_command(Path("/guest"), 42)[1:], strict=False))
    assert [options[name] for name in ("-t", "-u", "-T", "-U")] == ["none"] * 4
