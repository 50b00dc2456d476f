"""Real tap devices: owned by the guest's user, connected to their bridge, and removed afterwards."""

import contextlib
import fcntl
import os
import struct
from collections.abc import Iterator

import pytest
from tests.support.bridges import create_bridge, list_bridge_ports
from tests.support.devices import POD_NETWORK, build_instance, build_interface

from virtshape.launcher.host import Host
from virtshape.launcher.node.account import choose_account
from virtshape.launcher.node.taps import DEVICE, NETWORKS, TapError, list_taps, make_taps, remove_tap

BRIDGE = "vstest1"
HOST = Host(tap=True, bridges={"pod": BRIDGE})
SEVERAL = {**build_interface(bridge={}), "networkInterfaceMultiqueue": True}


def read(device: str, name: str) -> str:
    return (NETWORKS / device / name).read_text().strip()


@contextlib.contextmanager
def use(device: str, *, several: bool) -> Iterator[None]:
    """Open a tap device as a guest does."""
    with DEVICE.open("r+b", buffering=0) as handle:
        flags = 0x2 | 0x1000 | 0x4000 | (0x100 if several else 0)
        fcntl.ioctl(handle, 0x400454CA, struct.pack("16sH", device.encode(), flags) + bytes(22))
        yield


@pytest.mark.skipif(os.geteuid() != 0 or not DEVICE.exists(), reason="only root can create tap devices")
@pytest.mark.parametrize(
    ("devices", "cores"),
    [pytest.param(build_interface(bridge={}), 1, id="one queue"), pytest.param(SEVERAL, 2, id="several queues")],
)
def test_tap_device_belongs_to_the_guest_joins_the_bridge_and_is_removed(
    devices: dict[str, object], cores: int
) -> None:
    interfaces = list_taps(build_instance(devices, domain={"cpu": {"cores": cores}}, **POD_NETWORK), HOST)
    (device,) = [interface.device or "" for interface in interfaces]
    account = choose_account()
    with create_bridge(BRIDGE, "10.213.8.1"):
        for _ in range(2):  # the second attempt replaces the devices of the first
            make_taps(interfaces, account)
        assert list_bridge_ports(BRIDGE) == [device]
        assert int(read(device, "owner")) == account.user
        assert bool(int(read(device, "tun_flags"), 16) & 0x100) is (cores > 1)
        assert int(read(device, "flags"), 16) & 1
        assert account.may(DEVICE, 6)
        with use(device, several=cores > 1):
            for _ in range(2):
                remove_tap(device)
        assert list_bridge_ports(BRIDGE) == []
        assert not (NETWORKS / device).exists()


def test_missing_bridge_is_reported_by_name() -> None:
    interfaces = list_taps(
        build_instance(build_interface(bridge={}), **POD_NETWORK), Host(tap=True, bridges={"pod": "nowhere0"})
    )
    with pytest.raises(
        TapError, match="the network of the interface default is not ready: this host has no bridge nowhere0"
    ):
        make_taps(interfaces, choose_account())


@pytest.mark.parametrize(
    "host", [Host(), Host(bridges=HOST.bridges), Host(tap=True)], ids=["neither", "no tap support", "no bridge"]
)
def test_no_tap_device_is_created_without_a_bridge_or_tap_support(host: Host) -> None:
    assert list_taps(build_instance(build_interface(bridge={}), **POD_NETWORK), host) == []
