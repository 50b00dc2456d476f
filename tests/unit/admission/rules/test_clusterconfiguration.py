"""Validation against the administrator's configuration."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import D, interface, read

from virtshape.admission.rules.clusterconfiguration import check_configured
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
    "supported machine type": (machine("q35"), None, []),
    "newer version of a supported machine type": (machine("pc-q35-rhel9.4.0"), {}, []),
    "unsupported machine type": (machine("pc-i440fx-2.10"), None, [MACHINE]),
    "no machine type": (machine(None), None, []),
    "machine type without an architecture": (machine("q35", None), None, []),
    "machine type of another architecture": (machine("q35", "arm64"), None, [MACHINE]),
    "arm64 machine type": (machine("virt-8.2", "arm64"), None, []),
    "s390x machine type": (machine("s390-ccw-virtio", "s390x"), None, []),
    "machine type of an unknown architecture": (machine("x", "vax"), None, []),
    "configured machine type": (machine("pc-i440fx-2.10"), machines("pc-i440fx-*"), []),
    "machine type that is not configured": (machine("q35"), machines("pc-i440fx-*"), [MACHINE]),
    "machine type configured for all architectures": (machine("pc"), {"emulatedMachines": ["pc*"]}, []),
    "bridge binding": (interface(bridge={}), {}, []),
    "bridge binding that is not permitted": (interface(bridge={}), NO_BRIDGE, [BRIDGE]),
    "bridge binding of a secondary network": (interface({"multus": {"networkName": "n"}}, bridge={}), NO_BRIDGE, []),
    "masquerade binding": (interface(masquerade={}), NO_BRIDGE, []),
}


@pytest.mark.parametrize(("tree", "configuration", "fields"), CASES.values(), ids=CASES)
def test_only_fields_that_the_configuration_forbids_are_reported(
    tree: JsonObject, configuration: Any, fields: list[str]
) -> None:
    settings = None if configuration is None else from_tree(configuration, KubeVirtConfiguration)
    assert [each.field for each in check_configured(read(tree), "spec", settings)] == fields


def test_error_for_an_unsupported_machine_type_lists_the_allowed_types() -> None:
    (violation,) = check_configured(read(machine("pc")), "spec", None)
    assert violation.message == "spec.domain.machine.type is not supported: pc (allowed values: [q35* pc-q35*])"
