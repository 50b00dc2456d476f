"""Network interfaces: how they reach their networks on one host, and how the guest sees them."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.devices import POD_NETWORK, build_instance, build_interface, design_with, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.design.devices.networkbindings import name_tap
from virtshape.launcher.domain.devices.address import PciAddress
from virtshape.launcher.domain.devices.interface import Forward, Interface, Subnet
from virtshape.launcher.host import Host
from virtshape.launcher.report import Note

PLAIN = Interface(
    name="default",
    subnets=(Subnet("ipv4", "10.0.2.0", 24),),
    guest_address="10.0.2.15",
    model="virtio-non-transitional",
    option_rom=False,
)
BRIDGED = Interface(
    name="default",
    kind="tap",
    device=name_tap(build_instance(), "default"),
    bridge="br0",
    model="virtio-non-transitional",
    option_rom=False,
)
TAPS = Host(tap=True, bridges={"pod": "br0", "blue": "br1"})
BLUE: dict[str, Any] = {"networks": [{"name": "default", "multus": {"networkName": "blue"}}]}
STAND_IN = "user-mode networking is used instead: the guest has a private address behind the host"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, PLAIN, id="masquerade"),
        *(
            pytest.param({"model": model}, replace(PLAIN, model=model), id=model)
            for model in ("e1000", "e1000e", "rtl8139", "pcnet", "ne2k_pci")
        ),
        pytest.param({"macAddress": "02-00-5E-10-00-01"}, replace(PLAIN, mac="02:00:5e:10:00:01"), id="mac"),
        pytest.param({"bootOrder": 2}, replace(PLAIN, boot_order=2, option_rom=True), id="boot order"),
        pytest.param(
            {"pciAddress": "0000:81:01.0"}, replace(PLAIN, address=PciAddress(0, 0x81, 1, 0)), id="PCI address"
        ),
        pytest.param({"acpiIndex": 7}, replace(PLAIN, acpi_index=7), id="acpi index"),
        pytest.param({"state": "up"}, PLAIN, id="up"),
        pytest.param({"state": "down"}, replace(PLAIN, link_up=False), id="down"),
        pytest.param(
            {"ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}]},
            replace(PLAIN, forwards=(Forward("tcp", 80, 80), Forward("udp", 53, 53))),
            id="ports",
        ),
        pytest.param(
            {"portRanges": [{"start": 8000, "end": 8010, "protocol": "TCP"}]},
            replace(PLAIN, forwards=(Forward("tcp", 8000, 8010),)),
            id="ranges of ports",
        ),
    ],
)
def test_interface_design_has_the_requested_fields(given: JsonObject, expected: Interface) -> None:
    design = design_with(build_interface(**given), **POD_NETWORK)
    assert (design.devices.interfaces, design.refusals, design.notes) == ((expected,), (), ())


def test_interface_with_state_absent_is_omitted() -> None:
    assert design_with(build_interface(state="absent"), **POD_NETWORK).devices.interfaces == ()


@pytest.mark.parametrize(
    ("range_", "address", "prefix", "guest"),
    [
        (None, "10.0.2.0", 24, "10.0.2.15"),
        ("10.11.12.0/24", "10.11.12.0", 24, "10.11.12.15"),
        ("10.11.0.0/16", "10.11.0.0", 16, "10.11.2.15"),
        ("192.168.7.32/27", "192.168.7.32", 27, "192.168.7.47"),
    ],
)
def test_address_of_a_guest_depends_on_the_network_cidr(
    range_: str | None, address: str, prefix: int, guest: str
) -> None:
    networks = [{"name": "default", "pod": {"vmNetworkCIDR": range_}}]
    expected = replace(PLAIN, subnets=(Subnet("ipv4", address, prefix),), guest_address=guest)
    assert design_with(build_interface(), networks=networks).devices.interfaces == (expected,)


def test_guest_has_an_ipv6_subnet_if_requested() -> None:
    networks = [{"name": "default", "pod": {"vmIPv6NetworkCIDR": "fd10:0:2::/64"}}]
    expected = replace(PLAIN, subnets=(*PLAIN.subnets, Subnet("ipv6", "fd10:0:2::", 64)))
    assert design_with(build_interface(), networks=networks).devices.interfaces == (expected,)


@pytest.mark.parametrize("binding", ["bridge", "passtBinding"])
def test_user_mode_networking_is_used_for_unsupported_bindings_with_a_note(binding: str) -> None:
    design = design_with(build_interface(**{binding: {}}), **POD_NETWORK)
    note = Note(f"spec.domain.devices.interfaces[0].{binding}", STAND_IN)
    assert (design.devices.interfaces, design.refusals, design.notes) == ((PLAIN,), (), (note,))


@pytest.mark.parametrize(
    ("given", "spec", "expected"),
    [
        pytest.param({"bridge": {}}, POD_NETWORK, BRIDGED, id="the pod network"),
        pytest.param({"bridge": {}}, BLUE, replace(BRIDGED, bridge="br1"), id="a secondary network"),
        pytest.param(
            {"bridge": {}, "ports": [{"port": 80}]}, POD_NETWORK, BRIDGED, id="bridge without port restrictions"
        ),
        pytest.param({"masquerade": {}}, POD_NETWORK, PLAIN, id="masquerade on a bridge"),
    ],
)
def test_only_bridge_binding_uses_a_bridge_of_the_host(
    given: JsonObject, spec: dict[str, Any], expected: Interface
) -> None:
    design = design_with(build_interface(**given), host=TAPS, **spec)
    assert (design.devices.interfaces, design.refusals, design.notes) == ((expected,), (), ())


@pytest.mark.parametrize(
    ("vcpus", "model", "vhost", "expected"),
    [
        pytest.param(4, "virtio", True, replace(BRIDGED, queues=4, vhost=True), id="one queue per vCPU"),
        pytest.param(4, "virtio", False, replace(BRIDGED, queues=4), id="without vhost"),
        pytest.param(1, "virtio", False, BRIDGED, id="one vCPU"),
        pytest.param(300, "virtio", False, replace(BRIDGED, queues=256), id="maximum of a tap device"),
        pytest.param(4, "e1000e", False, replace(BRIDGED, model="e1000e"), id="other model"),
    ],
)
def test_only_virtio_interfaces_on_a_tap_device_have_multiple_queues(
    vcpus: int, model: str, vhost: bool, expected: Interface
) -> None:
    devices = {**build_interface(bridge={}, model=model), "networkInterfaceMultiqueue": True}
    design = design_with(devices, host=replace(TAPS, vhost_net=vhost), domain={"cpu": {"cores": vcpus}}, **POD_NETWORK)
    assert (design.devices.interfaces, design.refusals) == ((expected,), ())


def test_multiple_queues_are_refused_without_a_tap_device() -> None:
    devices = {**build_interface(), "networkInterfaceMultiqueue": True}
    reason = "the interface 'default' has user-mode networking, and multiqueue needs a tap device"
    assert list_refusals(design_with(devices, domain={"cpu": {"cores": 2}}, **POD_NETWORK)) == {
        "networkInterfaceMultiqueue": reason
    }
    assert list_refusals(design_with(devices, **POD_NETWORK)) == {}


@pytest.mark.parametrize(
    ("given", "spec", "refusals"),
    [
        pytest.param({"slirp": {}}, POD_NETWORK, {".slirp": "is no longer supported: use masquerade"}, id="slirp"),
        pytest.param({"passt": {}}, POD_NETWORK, {".passt": "is no longer supported: use passtBinding"}, id="passt"),
        pytest.param({"macvtap": {}}, POD_NETWORK, {".macvtap": "is no longer supported: use bridge"}, id="macvtap"),
        pytest.param(
            {"binding": {"name": "vdpa"}},
            POD_NETWORK,
            {".binding": "this host has no network binding 'vdpa'"},
            id="binding plugin",
        ),
        pytest.param({}, {}, {".name": "there is no network 'default'"}, id="no network"),
        pytest.param(
            {"portRanges": [{"start": 1000, "end": 1299, "protocol": "TCP"}]},
            POD_NETWORK,
            {".portRanges": "more than 256 ports are listed: list none to forward all ports"},
            id="too many ports",
        ),
        pytest.param(
            {"model": "igb"},
            POD_NETWORK,
            {".model": "igb needs QEMU 8.0 and libvirt 9.3: use e1000e"},
            id="unsupported model",
        ),
        pytest.param({"sriov": {}}, BLUE, {".sriov": "this host offers no blue"}, id="missing virtual function"),
        pytest.param(
            {
                "dhcpOptions": {
                    "bootFileName": "boot",
                    "ntpServers": ["10.0.0.1"],
                    "privateOptions": [{"option": 224, "value": "x"}],
                }
            },
            POD_NETWORK,
            {
                f".dhcpOptions.{name}": ("DHCP on this host provides only address, route and name server")
                for name in ("bootFileName", "ntpServers", "privateOptions")
            },
            id="unsupported DHCP option",
        ),
    ],
)
def test_unsupported_interface_is_refused_with_its_field(
    given: JsonObject, spec: dict[str, Any], refusals: dict[str, str]
) -> None:
    expected = {f"interfaces[0]{field}": reason for field, reason in refusals.items()}
    assert list_refusals(design_with(build_interface(**given), **spec)) == expected


@pytest.mark.parametrize(
    ("network", "field", "reason"),
    [
        pytest.param(
            {"multus": {"networkName": "blue"}},
            "multus",
            "this host has no network 'blue': it needs a bridge, and permission to create tap devices",
            id="secondary",
        ),
        pytest.param(
            {"resourceClaim": {"claimName": "c"}},
            "resourceClaim",
            "resource claims are not supported on this host",
            id="claim",
        ),
        pytest.param(
            {"pod": {"vmNetworkCIDR": "10.0.2.0/28"}},
            "pod.vmNetworkCIDR",
            "user-mode networking needs a range of /27 or larger",
            id="a small range",
        ),
        pytest.param(
            {"pod": {"vmIPv6NetworkCIDR": "fd10:0:2::/120"}},
            "pod.vmIPv6NetworkCIDR",
            "user-mode networking needs a range of /64",
            id="an IPv6 range",
        ),
    ],
)
def test_unsupported_network_is_refused_with_its_field(network: JsonObject, field: str, reason: str) -> None:
    design = design_with(build_interface(), networks=[{"name": "default", **network}])
    assert list_refusals(design) == {f"spec.networks[0].{field}": reason}


def test_netdev_has_the_name_that_libvirt_assigns() -> None:
    assert PLAIN.netdev == "hostua-default"
