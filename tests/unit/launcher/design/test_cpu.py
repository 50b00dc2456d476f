"""CPU model and features."""

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, EMULATING, design_guest, list_notes, list_refusals

from virtshape.api.architecture import Architecture
from virtshape.api.model import JsonObject
from virtshape.launcher.domain.cpu import Cpu, Feature
from virtshape.launcher.host import Host

NO_MPX = Feature("mpx", "disable")
TCG = {"spec.domain": "KVM is not available on this host: QEMU emulates the guest's CPUs, which is slow"}


@pytest.mark.parametrize(
    ("model", "cpu"),
    [
        pytest.param(None, Cpu(mode="host-model"), id="host-model by default"),
        pytest.param("host-model", Cpu(mode="host-model"), id="host-model"),
        pytest.param("host-passthrough", Cpu(mode="host-passthrough"), id="host-passthrough"),
        pytest.param("Westmere", Cpu(mode="custom", model="Westmere", features=(NO_MPX,)), id="named model"),
    ],
)
def test_requested_cpu_model_is_used_with_kvm(model: str | None, cpu: Cpu) -> None:
    design = design_guest({"cpu": {"model": model}})
    assert design.domain.cpu == cpu
    assert (design.refusals, design.notes) == ((), ())


@pytest.mark.parametrize(
    ("model", "cpu", "note"),
    [
        pytest.param(
            "host-model",
            Cpu(mode="custom", model="Westmere"),
            "host-model needs KVM; the guest gets the model Westmere instead",
            id="host-model",
        ),
        pytest.param(
            "host-passthrough",
            Cpu(mode="custom", model="Westmere"),
            "host-passthrough needs KVM; the guest gets the model Westmere instead",
            id="host-passthrough",
        ),
        pytest.param("Penryn", Cpu(mode="custom", model="Penryn", features=(NO_MPX,)), None, id="fully emulated model"),
        pytest.param(
            "Skylake-Server",
            Cpu(mode="custom", model="Skylake-Server", check="none", features=(NO_MPX,)),
            "QEMU emulates Skylake-Server without some of its features",
            id="partly emulated model",
        ),
    ],
)
def test_replacement_cpu_model_without_kvm_is_reported_in_a_note(model: str, cpu: Cpu, note: str | None) -> None:
    design = design_guest({"cpu": {"model": model}}, host=EMULATING)
    assert design.domain.cpu == cpu
    assert design.domain.type == "qemu"
    assert list_notes(design) == TCG | ({"cpu.model": note} if note else {})
    assert design.refusals == ()


@pytest.mark.parametrize(("architecture", "machine"), [("arm64", "virt"), ("s390x", "s390-ccw-virtio")])
def test_other_architectures_emulate_the_cpu_model_max(architecture: Architecture, machine: str) -> None:
    host = replace(EMULATING, architecture=architecture, machine_types=frozenset({machine}))
    design = design_guest(host=host)
    assert design.domain.cpu == Cpu(mode="custom", model="max")
    assert design.refusals == ()


@pytest.mark.parametrize(
    ("host", "model", "reason"),
    [
        pytest.param(
            ACCELERATED,
            "EPYC",
            "this host does not support all features of the CPU model EPYC; it supports: Skylake-Server, Westmere",
            id="missing features",
        ),
        pytest.param(
            EMULATING,
            "Z80",
            "this host does not know the CPU model Z80; it supports: Penryn, Westmere",
            id="unknown model",
        ),
    ],
)
def test_unsupported_cpu_model_is_refused(host: Host, model: str, reason: str) -> None:
    assert list_refusals(design_guest({"cpu": {"model": model}}, host=host)) == {"cpu.model": reason}


def test_cpu_features_have_the_requested_policy_and_order() -> None:
    features = [
        {"name": "aes"},
        {"name": "avx2", "policy": "force"},
        {"name": "mpx", "policy": "optional"},
        {"name": "hle", "policy": "disable"},
        {"name": "rtm", "policy": "forbid"},
    ]
    design = design_guest({"cpu": {"model": "Westmere", "features": features}})
    assert design.domain.cpu.features == (
        Feature("aes"),
        Feature("avx2", "force"),
        Feature("mpx", "optional"),
        Feature("hle", "disable"),
        Feature("rtm", "forbid"),
    )
    assert design.refusals == ()


@pytest.mark.parametrize(
    ("feature", "refusals"),
    [
        pytest.param(
            {"name": "vmx", "policy": "require"},
            {"cpu.features[0].name": "this host does not support the CPU feature vmx"},
            id="missing feature",
        ),
        pytest.param({"name": "vmx", "policy": "optional"}, {}, id="missing optional feature"),
        pytest.param(
            {"name": "aes", "policy": "maybe"},
            {"cpu.features[0].policy": "unsupported value maybe: use one of force, require, optional, disable, forbid"},
            id="unknown policy",
        ),
    ],
)
def test_missing_required_cpu_features_and_unknown_policies_are_refused(
    feature: JsonObject, refusals: dict[str, str]
) -> None:
    assert list_refusals(design_guest({"cpu": {"features": [feature]}}, host=EMULATING)) == refusals


def test_cpu_feature_that_qemu_may_not_emulate_has_a_note() -> None:
    host = replace(EMULATING, cpu_features=frozenset())
    notes = list_notes(design_guest({"cpu": {"model": "Westmere", "features": [{"name": "avx2"}]}}, host=host))
    assert notes == TCG | {"cpu.features[0].name": "QEMU may not be able to emulate avx2: its features are unknown"}


def test_evmcs_adds_the_vmx_feature() -> None:
    domain: JsonObject = {"features": {"hyperv": {"evmcs": {}, "vapic": {}}}}
    assert design_guest(domain).domain.cpu.features == (Feature("vmx"),)
