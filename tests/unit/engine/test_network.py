"""Interfaces: the default interface, and preferred model and binding."""

import pytest
from tests.support.build import build_spec
from tests.support.engine import apply_to_domain

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject
from virtshape.engine.network import apply_default_interface

POD = [{"name": "lan", "pod": {}}]
DEFAULT_NETWORK = [{"name": "default", "pod": {}}]
MASQUERADE: JsonObject = {"devices": {"preferredInterfaceMasquerade": {}}}


def connect(
    devices: JsonObject | None = None, configuration: JsonObject | None = None, **spec: object
) -> tuple[JsonObject, str | None]:
    built = build_spec({"devices": devices or {}}, **spec)
    config = None if configuration is None else from_tree({"network": configuration}, KubeVirtConfiguration)
    unusable = apply_default_interface(built, config)
    tree: JsonObject = to_tree(built)
    return tree, unusable.message if unusable else None


@pytest.mark.parametrize(
    ("configuration", "binding"),
    [
        (None, {"bridge": {}}),
        ({}, {"bridge": {}}),
        ({"defaultNetworkInterface": ""}, {"bridge": {}}),
        ({"defaultNetworkInterface": "bridge"}, {"bridge": {}}),
        ({"defaultNetworkInterface": "bridge", "permitBridgeInterfaceOnPodNetwork": True}, {"bridge": {}}),
        ({"defaultNetworkInterface": "masquerade"}, {"masquerade": {}}),
        ({"defaultNetworkInterface": "masquerade", "permitBridgeInterfaceOnPodNetwork": False}, {"masquerade": {}}),
    ],
    ids=["no configuration", "empty", "unset", "bridge", "bridge permitted", "masquerade", "bridge not permitted"],
)
def test_vm_without_networks_gets_the_pod_network(configuration: JsonObject | None, binding: JsonObject) -> None:
    interfaces = [{"name": "default", **binding}]
    assert connect(configuration=configuration) == (
        {"domain": {"devices": {"interfaces": interfaces}}, "networks": DEFAULT_NETWORK},
        None,
    )


@pytest.mark.parametrize(
    ("devices", "spec"),
    [
        ({"autoattachPodInterface": False}, {}),
        ({"interfaces": [{"name": "lan"}]}, {}),
        ({}, {"networks": POD}),
        ({"interfaces": [{"name": "lan"}]}, {"networks": POD}),
    ],
    ids=["disabled", "interfaces", "networks", "both"],
)
def test_vm_with_its_own_network_settings_is_unchanged(devices: JsonObject, spec: JsonObject) -> None:
    assert connect(devices, **spec) == ({"domain": {"devices": devices}, **spec}, None)


ADVICE = "add an interface to the VM, or set configuration.network.defaultNetworkInterface to masquerade"


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        (
            {"permitBridgeInterfaceOnPodNetwork": False},
            f"bridge interface is not enabled in kubevirt-config: {ADVICE}",
        ),
        (
            {"defaultNetworkInterface": "passt"},
            "configuration.network.defaultNetworkInterface: passt is not supported; use bridge or masquerade",
        ),
        ({"defaultNetworkInterface": "slirp"}, "slirp interface is deprecated as of v1.3"),
    ],
    ids=["bridge not permitted", "unknown binding", "removed binding"],
)
def test_default_binding_that_is_not_permitted_is_a_conflict(configuration: JsonObject, message: str) -> None:
    assert connect(configuration=configuration) == ({"domain": {"devices": {}}}, message)


@pytest.mark.parametrize(
    "binding",
    [
        {"bridge": {}},
        {"masquerade": {}},
        {"sriov": {}},
        {"macvtap": {}},
        {"passt": {}},
        {"passtBinding": {}},
        {"slirp": {}},
        {"binding": {"name": "plugin"}},
    ],
    ids=lambda binding: next(iter(binding)),
)
def test_preferred_masquerade_does_not_override_a_binding_of_the_vm(binding: JsonObject) -> None:
    interfaces = [{"name": "lan", **binding}]
    domain = apply_to_domain({"devices": {"interfaces": interfaces}}, preference=MASQUERADE, networks=POD)
    assert domain["devices"]["interfaces"] == interfaces


@pytest.mark.parametrize(
    ("networks", "masqueraded"),
    [
        (POD, True),
        (None, False),
        ([{"name": "other", "pod": {}}], False),
        ([{"name": "lan", "multus": {"networkName": "br"}}], False),
        ([{"name": "lan", "multus": {"networkName": "br"}}, {"name": "lan", "pod": {}}], False),
    ],
    ids=["pod", "none", "another pod network", "multus", "first network of the name"],
)
def test_preferred_masquerade_applies_to_the_pod_network_only(
    networks: list[JsonObject] | None, masqueraded: bool
) -> None:
    domain = apply_to_domain({"devices": {"interfaces": [{"name": "lan"}]}}, preference=MASQUERADE, networks=networks)
    assert domain["devices"]["interfaces"] == [{"name": "lan", "masquerade": {}} if masqueraded else {"name": "lan"}]


def test_preferred_model_applies_to_interfaces_without_a_model() -> None:
    interfaces = [{"name": "a", "sriov": {}}, {"name": "b", "model": "e1000"}, {"name": "c", "model": ""}]
    preference = {"devices": {"preferredInterfaceModel": "virtio"}}
    domain = apply_to_domain({"devices": {"interfaces": interfaces}}, preference=preference)
    assert domain["devices"]["interfaces"] == [
        {"name": "a", "sriov": {}, "model": "virtio"},
        {"name": "b", "model": "e1000"},
        {"name": "c", "model": "virtio"},
    ]
