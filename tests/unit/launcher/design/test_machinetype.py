"""Architecture and machine type."""

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, design_guest, list_refusals

from virtshape.api.architecture import Architecture

ARM = replace(ACCELERATED, architecture="arm64", machine_types=frozenset({"virt"}), machine_aliases={})


@pytest.mark.parametrize(
    ("wanted", "machine"),
    [
        pytest.param(None, "pc-q35-7.2", id="default"),
        pytest.param("q35", "pc-q35-7.2", id="alias"),
        pytest.param("pc", "pc-i440fx-7.2", id="i440fx"),
        pytest.param("pc-q35-6.2", "pc-q35-6.2", id="a version"),
    ],
)
def test_machine_type_alias_is_resolved(wanted: str | None, machine: str) -> None:
    design = design_guest({"machine": {"type": wanted}})
    assert design.domain.os.machine == machine
    assert design.refusals == ()


def test_refusal_of_an_unknown_machine_type_lists_the_known_types() -> None:
    design = design_guest({"machine": {"type": "pc-q35-rhel9.2.0"}})
    known = "pc, pc-i440fx-7.2, pc-q35-7.2, q35 and 1 more"
    assert list_refusals(design) == {
        "machine.type": f"QEMU on this host has no machine type pc-q35-rhel9.2.0; it has: {known}"
    }


def test_known_machine_types_are_sorted_by_version() -> None:
    host = replace(ACCELERATED, machine_types=frozenset({"pc-q35-2.10", "pc-q35-2.9"}), machine_aliases={})
    reason = list_refusals(design_guest(host=host))["machine.type"]
    assert reason == "QEMU on this host has no machine type q35; it has: pc-q35-2.9, pc-q35-2.10"


def test_guest_for_another_architecture_is_refused_for_that_reason_only() -> None:
    design = design_guest({"machine": {"type": "virt"}, "features": {"acpi": {}}}, architecture="arm64")
    assert list_refusals(design) == {"spec.architecture": "this host is amd64 and cannot run arm64 guests"}


@pytest.mark.parametrize(
    ("architecture", "name", "machine"),
    [("arm64", "aarch64", "virt"), ("s390x", "s390x", "s390-ccw-virtio")],
)
def test_each_architecture_has_its_default_machine_type(architecture: Architecture, name: str, machine: str) -> None:
    host = replace(ARM, architecture=architecture, machine_types=frozenset({machine}))
    design = design_guest(host=host, architecture=architecture)
    assert (design.domain.os.architecture, design.domain.os.machine) == (name, machine)
    assert list_refusals(design) == {}
