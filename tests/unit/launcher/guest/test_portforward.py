import re
import socket
from collections.abc import Iterator

import pytest

from virtshape.launcher.domain.devices.interface import Forward
from virtshape.launcher.guest.plan import Plan
from virtshape.launcher.guest.portforward import ForwardError, PortForwarder
from virtshape.launcher.report import OpenPort

NETDEVS = {"default": "hostua-default", "other": "hostua-other"}


class Monitor:
    """A QEMU monitor that records commands and refuses ports in `taken`."""

    def __init__(self, *taken: str) -> None:
        self.commands: list[str] = []
        self._taken = taken

    def __call__(self, command: str) -> str:
        self.commands.append(command)
        return next((f"could not set up {one}" for one in self._taken if one in command), "")


def plan(**forwards: tuple[Forward, ...]) -> Plan:
    return Plan(name="guest", xml="", netdevs=NETDEVS, forwards=forwards)


@pytest.fixture
def free() -> Iterator[int]:
    """Yield a free port outside the ephemeral range."""
    for port in range(20000, 30000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        yield port
        return


def test_guest_port_is_forwarded_once_from_a_free_loopback_port(free: int) -> None:
    monitor = Monitor()
    forwarding = PortForwarder(plan(), monitor)
    here = forwarding.open(free, "tcp")
    assert (forwarding.open(free, "tcp"), here == free) == (here, False)
    assert monitor.commands == [f"hostfwd_add hostua-default tcp:127.0.0.1:{here}-:{free}"]
    forwarding.open(free, "udp", "other")
    assert re.fullmatch(rf"hostfwd_add hostua-other udp:127.0.0.1:\d+-:{free}", monitor.commands[1])


def test_declared_ports_can_be_forwarded_from_all_addresses(free: int) -> None:
    monitor = Monitor()
    named = Plan(
        name="guest",
        xml="",
        netdevs=NETDEVS,
        forwards={"default": (Forward("tcp", free, free),)},
        port_address="0.0.0.0",  # noqa: S104 - as in a pod
    )
    forwarding = PortForwarder(named, monitor)
    assert [one.here for one in forwarding.open_listed()] == [free]
    forwarding.open(free + 1, "tcp", "other")
    assert monitor.commands[0] == f"hostfwd_add hostua-default tcp:0.0.0.0:{free}-:{free}"
    assert monitor.commands[1].startswith("hostfwd_add hostua-other tcp:127.0.0.1:")


def test_declared_port_is_forwarded_from_the_same_number_if_it_is_available(free: int) -> None:
    monitor = Monitor()
    forwarding = PortForwarder(plan(default=(Forward("tcp", 80, 80), Forward("tcp", free, free))), monitor)
    low, ordinary = forwarding.open_listed()
    assert ordinary == OpenPort(interface="default", protocol="tcp", port=free, here=free)
    assert (low.port, low.here > 1023) == (80, True)
    with socket.socket() as other:
        other.bind(("127.0.0.1", free))
        (elsewhere,) = PortForwarder(plan(default=(Forward("tcp", free, free),)), monitor).open_listed()
    assert (elsewhere.port, elsewhere.here == free) == (free, False)


def test_port_that_is_already_forwarded_is_not_forwarded_again_after_adoption() -> None:
    monitor = Monitor()
    known = OpenPort(interface="default", protocol="tcp", port=80, here=40080)
    forwarding = PortForwarder(plan(default=(Forward("tcp", 80, 80),)), monitor, (known,))
    assert (list(forwarding.open_listed()), monitor.commands) == ([known], [])


def test_only_declared_ports_are_forwarded(free: int) -> None:
    forwarding = PortForwarder(plan(default=(Forward("tcp", 80, 82), Forward("udp", 53, 53))), Monitor())
    assert forwarding.open(81, "tcp")
    assert forwarding.open(free, "tcp", "other")
    with pytest.raises(ForwardError, match="default forwards only tcp 80-82, udp 53, not tcp 53"):
        forwarding.open(53, "tcp")


@pytest.mark.parametrize(
    ("netdevs", "interface", "message"),
    [({}, "", "no interface of the guest has user-mode"), (NETDEVS, "lan", "interface lan does not have user-mode")],
    ids=["no interface", "another interface"],
)
def test_interface_without_ports_to_forward_is_reported(netdevs: dict[str, str], interface: str, message: str) -> None:
    forwarding = PortForwarder(Plan(name="guest", xml="", netdevs=netdevs), Monitor())
    with pytest.raises(ForwardError, match=message):
        forwarding.open(80, "tcp", interface)


def test_failure_to_forward_one_port_does_not_affect_other_ports() -> None:
    forwarding = PortForwarder(plan(default=(Forward("tcp", 80, 80), Forward("tcp", 81, 81))), Monitor("-:80"))
    assert [one.port for one in forwarding.open_listed()] == [81]
    with pytest.raises(ForwardError, match="forwarding port 80 failed: could not set up"):
        forwarding.open(80, "tcp")
