"""Validation against the administrator's configuration."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import D, interface, read

from virtshape.admission.rules.configured import check_configured
from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject

MACHINE = f"{D}.machine.type"
BRIDGE = f"{D}.devices.interfaces[0].name"
NO_BRIDGE: JsonObject = {"network": {"permitBridgeInterfaceOnPodNetwork": False}}


def machine(name: str | None, architecture: str | None = "amd64") -> JsonObject:
    return {"architecture": architecture, "domain": {"machine": {"type": name}}}


def machines(*patterns: str) -> JsonObject:
    return {"architectureConfiguration": {"amd64": {"emulatedMachines": list(patterns)}}}


CASES: dict[str, tuple[JsonObject, JsonObject | None, list[str]]] = {
    "a machine of today": (machine("q35"), None, []),
    "a machine of some day": (machine("pc-q35-rhel9.4.0"), {}, []),
    "a machine of yesterday": (machine("pc-i440fx-2.10"), None, [MACHINE]),
    "no machine yet": (machine(None), None, []),
    "a machine of no architecture": (machine("q35", None), None, []),
    "a machine of another architecture": (machine("q35", "arm64"), None, [MACHINE]),
    "a machine of arm64": (machine("virt-8.2", "arm64"), None, []),
    "a machine of s390x": (machine("s390-ccw-virtio", "s390x"), None, []),
    "a machine of an unknown architecture": (machine("x", "vax"), None, []),
    "a machine that is configured": (machine("pc-i440fx-2.10"), machines("pc-i440fx-*"), []),
    "a machine that is not configured": (machine("q35"), machines("pc-i440fx-*"), [MACHINE]),
    "a machine that is configured for all": (machine("pc"), {"emulatedMachines": ["pc*"]}, []),
    "a bridge": (interface(bridge={}), {}, []),
    "a bridge that is not permitted": (interface(bridge={}), NO_BRIDGE, [BRIDGE]),
    "a bridge elsewhere": (interface({"multus": {"networkName": "n"}}, bridge={}), NO_BRIDGE, []),
    "no bridge": (interface(masquerade={}), NO_BRIDGE, []),
}


@pytest.mark.parametrize(("tree", "configuration", "fields"), CASES.values(), ids=CASES)
def test_disallowed_configuration_is_reported(tree: JsonObject, configuration: Any, fields: list[str]) -> None:
    settings = None if configuration is None else from_tree(configuration, KubeVirtConfiguration)
    assert [each.field for each in check_configured(read(tree), "spec", settings)] == fields


def test_unsupported_machine_type_lists_the_allowed_ones() -> None:
    (told,) = check_configured(read(machine("pc")), "spec", None)
    assert told.message == "spec.domain.machine.type is not supported: pc (allowed values: [q35* pc-q35*])"
