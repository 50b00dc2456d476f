"""Validation of networks and interfaces."""

import pytest
from tests.unit.admission.rules.guests import POD, D, Told, devices, expect, guest, interface

from virtshape.admission.rules.instance import check_guest
from virtshape.api.model import JsonObject

INTERFACE = f"{D}.devices.interfaces[0]"

BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "an interface without its network": (
        devices(interfaces=[{"name": "a", "bridge": {}}]),
        [(f"{INTERFACE}.name", "name 'a' not found")],
    ),
    "a network without its interface": (
        guest(networks=POD),
        [("spec.networks[0].name", "name 'default' not found")],
    ),
    "a network of nothing": (
        {"networks": [{"name": "a"}], **devices(interfaces=[{"name": "a", "bridge": {}}])},
        [("spec.networks[0]", "should have a network type")],
    ),
    "an interface bound twice": (
        interface(bridge={}, sriov={}),
        [(f"{INTERFACE}.sriov", "can only have a single type defined")],
    ),
    "masquerade off the pod network": (
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
    "a multus network of no name": (
        interface({"multus": {"networkName": ""}}, bridge={}),
        [("spec.networks[0].multus.networkName", "CNI delegating plugin must have a networkName")],
    ),
    "two default networks": (
        {
            "networks": [{"name": name, "multus": {"networkName": name, "default": True}} for name in "ab"],
            **devices(interfaces=[{"name": name, "bridge": {}} for name in "ab"]),
        },
        [("spec.networks", "Multus CNI should only have one default network")],
    ),
    "a pod network and a default one": (
        {
            "networks": [{"name": "a", "pod": {}}, {"name": "b", "multus": {"networkName": "n", "default": True}}],
            **devices(interfaces=[{"name": name, "bridge": {}} for name in "ab"]),
        },
        [("spec.networks", "Pod network cannot be defined when Multus default network is defined")],
    ),
    "a network of two sorts": (
        interface({"pod": {}, "multus": {"networkName": "n"}}, bridge={}),
        [("spec.networks[0].multus", "should have only one network type")],
    ),
    "two networks of a name": (
        {
            "networks": [*POD, {"name": "default", "multus": {"networkName": "n"}}],
            **devices(interfaces=[{"name": "default", "bridge": {}}]),
        },
        [("spec.networks[1].name", "already exists, every network must have a unique name")],
    ),
    "two interfaces of a name": (
        {"networks": POD, **devices(interfaces=[{"name": "default", "bridge": {}}] * 2)},
        [(f"{D}.devices.interfaces[1].name", "Only one interface can be connected to one specific network")],
    ),
    "an interface bound twice, by a plugin": (
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
    "the older passt": (
        interface(passt={}),
        [(f"{INTERFACE}.passt", "Passt network binding has been discontinued since v1.3")],
    ),
    "masquerade with the bridge's address": (
        interface(masquerade={}, macAddress="02:00:00:00:00:00"),
        [
            (
                f"{INTERFACE}.macAddress",
                "The requested MAC address is reserved for the in-pod bridge. Please choose another one.",
            )
        ],
    ),
    "a model that is none": (
        interface(bridge={}, model="ne2000"),
        [(f"{INTERFACE}.model", "uses model ne2000 that is not supported")],
    ),
    "a state that is none": (
        interface(bridge={}, state="sideways"),
        [(f"{INTERFACE}.state", "logical default interface state value is unsupported: sideways")],
    ),
    "a state of SR-IOV": (
        interface({"multus": {"networkName": "n"}}, sriov={}, state="down"),
        [(f"{INTERFACE}.state", 'interface\'s state "down" is not supported for its binding type')],
    ),
    "absent without a bridge": (
        interface({"multus": {"networkName": "n"}}, sriov={}, state="absent"),
        [(f"{INTERFACE}.state", 'interface\'s state "absent" is supported only for bridge binding')],
    ),
    "absent from the default network": (
        interface(bridge={}, state="absent"),
        [(f"{INTERFACE}.state", 'interface\'s state "absent" is not supported on default networks')],
    ),
    "an ACPI index too large": (
        interface(bridge={}, acpiIndex=16384),
        [(f"{INTERFACE}.acpiIndex", "must be from 1 to 16383")],
    ),
    "an ACPI index given twice": (
        {
            "networks": [{"name": "a", "pod": {}}, {"name": "b", "multus": {"networkName": "n"}}],
            **devices(interfaces=[{"name": name, "bridge": {}, "acpiIndex": 1} for name in "ab"]),
        },
        [(f"{D}.devices.interfaces[1].acpiIndex", "change one")],
    ),
    "a MAC address that is none": (
        interface(bridge={}, macAddress="de:ad"),
        [(f"{INTERFACE}.macAddress", "has malformed MAC address (de:ad).")],
    ),
    "a PCI address of an interface": (
        interface(bridge={}, pciAddress="x"),
        [(f"{INTERFACE}.pciAddress", "has malformed PCI address (x).")],
    ),
    "an interface with a dot in its name": (
        {"networks": [{"name": "a.b", "pod": {}}], **devices(interfaces=[{"name": "a.b", "bridge": {}}])},
        [
            (
                f"{INTERFACE}.name",
                "Network interface name can only contain alphabetical characters, numbers, dashes (-) or",
            )
        ],
    ),
    "a port that is none": (
        interface(masquerade={}, ports=[{"port": 0}]),
        [(f"{INTERFACE}.ports[0].port", "Port field is mandatory.")],
    ),
    "a port too large": (
        interface(masquerade={}, ports=[{"port": 65536}]),
        [(f"{INTERFACE}.ports[0].port", "Port field must be in range 0 < x < 65536.")],
    ),
    "a port's name in capitals": (
        interface(masquerade={}, ports=[{"port": 1, "name": "HTTP"}]),
        [(f"{INTERFACE}.ports[0].name", "Invalid name of the port: HTTP")],
    ),
    "ports and ranges of them": (
        interface(masquerade={}, ports=[{"port": 1}], portRanges=[{"start": 1, "end": 2, "protocol": "TCP"}]),
        [(f"{INTERFACE}.portRanges", "cannot be combined with ports")],
    ),
    "ranges of ports on a bridge": (
        interface(bridge={}, portRanges=[{"start": 1, "end": 2, "protocol": "TCP"}]),
        [(f"{INTERFACE}.portRanges", "needs an interface bound by masquerade")],
    ),
    "a range that goes down": (
        interface(masquerade={}, portRanges=[{"start": 2, "end": 1, "protocol": "SMTP"}]),
        [
            (f"{INTERFACE}.portRanges[0]", "invalid port range 2-1"),
            (f"{INTERFACE}.portRanges[0].protocol", "Unknown protocol, only TCP or UDP allowed, not SMTP"),
        ],
    ),
    "an option of DHCP given twice": (
        interface(bridge={}, dhcpOptions={"privateOptions": [{"option": 240, "value": "a"}] * 2}),
        [
            (
                f"{INTERFACE}.dhcpOptions.privateOptions",
                "Found Duplicates: you have provided duplicate DHCPPrivateOptions",
            )
        ],
    ),
    "an option of DHCP that is not private": (
        interface(bridge={}, dhcpOptions={"privateOptions": [{"option": 223, "value": "a"}]}),
        [
            (
                f"{INTERFACE}.dhcpOptions.privateOptions[0].option",
                "provided DHCPPrivateOptions are out of range, must be in range 224 to 254",
            )
        ],
    ),
    "a protocol that is none": (
        interface(masquerade={}, ports=[{"port": 1, "protocol": "SMTP"}]),
        [(f"{INTERFACE}.ports[0].protocol", "Unknown protocol, only TCP or UDP allowed, not SMTP")],
    ),
    "two ports of a name": (
        interface(masquerade={}, ports=[{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]),
        [(f"{INTERFACE}.ports[1].name", "Duplicate name of the port: a")],
    ),
    "a time server that is no address": (
        interface(bridge={}, dhcpOptions={"ntpServers": ["x"]}),
        [(f"{INTERFACE}.dhcpOptions.ntpServers[0]", "NTP servers must be a list of valid IPv4 addresses, not x")],
    ),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_guest, tree, told)
