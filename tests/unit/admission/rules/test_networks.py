"""Validation of networks and interfaces."""

import pytest
from tests.unit.admission.rules.guests import POD, D, Findings, assert_findings, devices, guest, interface

from virtshape.admission.rules.vmi import check_guest
from virtshape.api.model import JsonObject

INTERFACE = f"{D}.devices.interfaces[0]"

INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "interface without a network": (
        devices(interfaces=[{"name": "a", "bridge": {}}]),
        [(f"{INTERFACE}.name", "name 'a' not found")],
    ),
    "network without an interface": (
        guest(networks=POD),
        [("spec.networks[0].name", "name 'default' not found")],
    ),
    "network without a type": (
        {"networks": [{"name": "a"}], **devices(interfaces=[{"name": "a", "bridge": {}}])},
        [("spec.networks[0]", "should have a network type")],
    ),
    "interface with two bindings": (
        interface(bridge={}, sriov={}),
        [(f"{INTERFACE}.sriov", "can only have a single type defined")],
    ),
    "masquerade outside the pod network": (
        interface({"multus": {"networkName": "n"}}, masquerade={}),
        [(f"{INTERFACE}.name", "Masquerade interface only implemented with pod network")],
    ),
    "two pod networks": (
        {
            "networks": [{"name": "a", "pod": {}}, {"name": "b", "pod": {}}],
            **devices(interfaces=[{"name": "a", "bridge": {}}, {"name": "b", "bridge": {}}]),
        },
        [(f"{D}.devices.interfaces", "more than one interface is connected to a pod network in")],
    ),
    "Multus network without a name": (
        interface({"multus": {"networkName": ""}}, bridge={}),
        [("spec.networks[0].multus.networkName", "CNI delegating plugin must have a networkName")],
    ),
    "two default Multus networks": (
        {
            "networks": [{"name": name, "multus": {"networkName": name, "default": True}} for name in "ab"],
            **devices(interfaces=[{"name": name, "bridge": {}} for name in "ab"]),
        },
        [("spec.networks", "Multus CNI should only have one default network")],
    ),
    "pod network and default Multus network": (
        {
            "networks": [{"name": "a", "pod": {}}, {"name": "b", "multus": {"networkName": "n", "default": True}}],
            **devices(interfaces=[{"name": name, "bridge": {}} for name in "ab"]),
        },
        [("spec.networks", "Pod network cannot be defined when Multus default network is defined")],
    ),
    "network with two types": (
        interface({"pod": {}, "multus": {"networkName": "n"}}, bridge={}),
        [("spec.networks[0].multus", "should have only one network type")],
    ),
    "duplicate network name": (
        {
            "networks": [*POD, {"name": "default", "multus": {"networkName": "n"}}],
            **devices(interfaces=[{"name": "default", "bridge": {}}]),
        },
        [("spec.networks[1].name", "already exists, every network must have a unique name")],
    ),
    "duplicate interface name": (
        {"networks": POD, **devices(interfaces=[{"name": "default", "bridge": {}}] * 2)},
        [(f"{D}.devices.interfaces[1].name", "Only one interface can be connected to one specific network")],
    ),
    "interface with a binding and a plugin": (
        interface(bridge={}, binding={"name": "p"}),
        [(f"{INTERFACE}.binding", "interface cannot have both binding plugin and interface binding method")],
    ),
    "slirp": (
        interface(slirp={}),
        [(f"{INTERFACE}.slirp", "Slirp interface support has been discontinued since v1.3")],
    ),
    "macvtap": (
        interface(macvtap={}),
        [(f"{INTERFACE}.macvtap", "Macvtap network binding has been discontinued since v1.3")],
    ),
    "deprecated passt": (
        interface(passt={}),
        [(f"{INTERFACE}.passt", "Passt network binding has been discontinued since v1.3")],
    ),
    "masquerade with the MAC address of the bridge": (
        interface(masquerade={}, macAddress="02:00:00:00:00:00"),
        [
            (
                f"{INTERFACE}.macAddress",
                "The requested MAC address is reserved for the in-pod bridge. Please choose another one.",
            )
        ],
    ),
    "unknown model": (
        interface(bridge={}, model="ne2000"),
        [(f"{INTERFACE}.model", "uses model ne2000 that is not supported")],
    ),
    "unknown link state": (
        interface(bridge={}, state="sideways"),
        [(f"{INTERFACE}.state", "logical default interface state value is unsupported: sideways")],
    ),
    "link state of an SR-IOV interface": (
        interface({"multus": {"networkName": "n"}}, sriov={}, state="down"),
        [(f"{INTERFACE}.state", 'interface\'s state "down" is not supported for its binding type')],
    ),
    "absent state without a bridge binding": (
        interface({"multus": {"networkName": "n"}}, sriov={}, state="absent"),
        [(f"{INTERFACE}.state", 'interface\'s state "absent" is supported only for bridge binding')],
    ),
    "absent state on the default network": (
        interface(bridge={}, state="absent"),
        [(f"{INTERFACE}.state", 'interface\'s state "absent" is not supported on default networks')],
    ),
    "ACPI index too large": (
        interface(bridge={}, acpiIndex=16384),
        [(f"{INTERFACE}.acpiIndex", "must be from 1 to 16383")],
    ),
    "duplicate ACPI index": (
        {
            "networks": [{"name": "a", "pod": {}}, {"name": "b", "multus": {"networkName": "n"}}],
            **devices(interfaces=[{"name": name, "bridge": {}, "acpiIndex": 1} for name in "ab"]),
        },
        [(f"{D}.devices.interfaces[1].acpiIndex", "change one")],
    ),
    "malformed MAC address": (
        interface(bridge={}, macAddress="de:ad"),
        [(f"{INTERFACE}.macAddress", "has malformed MAC address (de:ad).")],
    ),
    "malformed PCI address": (
        interface(bridge={}, pciAddress="x"),
        [(f"{INTERFACE}.pciAddress", "has malformed PCI address (x).")],
    ),
    "interface name with a dot": (
        {"networks": [{"name": "a.b", "pod": {}}], **devices(interfaces=[{"name": "a.b", "bridge": {}}])},
        [
            (
                f"{INTERFACE}.name",
                "Network interface name can only contain alphabetical characters, numbers, dashes (-) or",
            )
        ],
    ),
    "port 0": (
        interface(masquerade={}, ports=[{"port": 0}]),
        [(f"{INTERFACE}.ports[0].port", "Port field is mandatory.")],
    ),
    "port too large": (
        interface(masquerade={}, ports=[{"port": 65536}]),
        [(f"{INTERFACE}.ports[0].port", "Port field must be in range 0 < x < 65536.")],
    ),
    "port name in upper case": (
        interface(masquerade={}, ports=[{"port": 1, "name": "HTTP"}]),
        [(f"{INTERFACE}.ports[0].name", "Invalid name of the port: HTTP")],
    ),
    "ports and port ranges": (
        interface(masquerade={}, ports=[{"port": 1}], portRanges=[{"start": 1, "end": 2, "protocol": "TCP"}]),
        [(f"{INTERFACE}.portRanges", "cannot be combined with ports")],
    ),
    "port ranges with a bridge binding": (
        interface(bridge={}, portRanges=[{"start": 1, "end": 2, "protocol": "TCP"}]),
        [(f"{INTERFACE}.portRanges", "requires an interface with the binding masquerade")],
    ),
    "port range with its end before its start": (
        interface(masquerade={}, portRanges=[{"start": 2, "end": 1, "protocol": "SMTP"}]),
        [
            (f"{INTERFACE}.portRanges[0]", "invalid port range 2-1"),
            (f"{INTERFACE}.portRanges[0].protocol", "Unknown protocol, only TCP or UDP allowed, not SMTP"),
        ],
    ),
    "duplicate DHCP option": (
        interface(bridge={}, dhcpOptions={"privateOptions": [{"option": 240, "value": "a"}] * 2}),
        [
            (
                f"{INTERFACE}.dhcpOptions.privateOptions",
                "Found Duplicates: you have provided duplicate DHCPPrivateOptions",
            )
        ],
    ),
    "DHCP option that is not private": (
        interface(bridge={}, dhcpOptions={"privateOptions": [{"option": 223, "value": "a"}]}),
        [
            (
                f"{INTERFACE}.dhcpOptions.privateOptions[0].option",
                "provided DHCPPrivateOptions are out of range, must be in range 224 to 254",
            )
        ],
    ),
    "unknown protocol": (
        interface(masquerade={}, ports=[{"port": 1, "protocol": "SMTP"}]),
        [(f"{INTERFACE}.ports[0].protocol", "Unknown protocol, only TCP or UDP allowed, not SMTP")],
    ),
    "duplicate port name": (
        interface(masquerade={}, ports=[{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]),
        [(f"{INTERFACE}.ports[1].name", "Duplicate name of the port: a")],
    ),
    "NTP server that is not an IP address": (
        interface(bridge={}, dhcpOptions={"ntpServers": ["x"]}),
        [(f"{INTERFACE}.dhcpOptions.ntpServers[0]", "NTP servers must be a list of valid IPv4 addresses, not x")],
    ),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_network_or_interface_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_guest, tree, expected)
