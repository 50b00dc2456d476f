"""Machine type: from the VM, the preference, the configuration or the architecture."""

import pytest
from tests.support.engine import apply_to_domain

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject
from virtshape.engine.machinetype import default_machine_type


@pytest.mark.parametrize(
    ("own", "preferred", "machine"),
    [
        (None, "pc", {"type": "pc"}),
        ({}, "pc", {"type": "pc"}),
        ({"type": ""}, "pc", {"type": "pc"}),
        ({"type": "q35"}, "pc", {"type": "q35"}),
        (None, "", None),
        (None, None, None),
        ({"type": "q35"}, None, {"type": "q35"}),
    ],
)
def test_preferred_machine_type_fills_an_unset_type(
    own: JsonObject | None, preferred: str | None, machine: JsonObject | None
) -> None:
    domain = apply_to_domain({"machine": own}, preference={"machine": {"preferredMachineType": preferred}})
    assert domain.get("machine") == machine


@pytest.mark.parametrize(
    ("configuration", "architecture", "expected"),
    [
        pytest.param(None, "amd64", "q35", id="amd64"),
        pytest.param(None, "arm64", "virt", id="arm64"),
        pytest.param(None, "s390x", "s390-ccw-virtio", id="s390x"),
        pytest.param(None, "riscv", "q35", id="unknown architecture"),
        pytest.param({}, "arm64", "virt", id="nothing configured"),
        pytest.param({"machineType": "pc"}, "arm64", "pc", id="configured for all"),
        pytest.param(
            {"architectureConfiguration": {"arm64": {"machineType": "virt-9"}}},
            "arm64",
            "virt-9",
            id="configured for this architecture",
        ),
        pytest.param(
            {"architectureConfiguration": {"arm64": {"machineType": "virt-9"}}},
            "amd64",
            "q35",
            id="configured for another architecture",
        ),
        pytest.param({"architectureConfiguration": {"arm64": {}}}, "arm64", "virt", id="section without a type"),
        pytest.param({"architectureConfiguration": {}}, "riscv", "q35", id="unknown to the configuration"),
    ],
)
def test_default_machine_type_comes_from_configuration_or_architecture(
    configuration: JsonObject | None, architecture: str, expected: str
) -> None:
    config = None if configuration is None else from_tree(configuration, KubeVirtConfiguration)
    assert default_machine_type(architecture, config) == expected
