"""Dedicated CPUs, emulator and I/O thread pinning, and realtime priority."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, EMULATING, design_guest, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.design.tuning import parse_numbers
from virtshape.launcher.domain.features import Features, Kvm
from virtshape.launcher.domain.tuning import CpuTune, Pin, Schedule
from virtshape.launcher.domain.xml import format_numbers
from virtshape.launcher.host import NumaCell

FOUR = replace(ACCELERATED, cpus=(0, 1, 2, 3), numa_cells=(NumaCell(0, ((0, 2), (1, 3))),))
EVEN = {"alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity": ""}


def dedicate(**cpu: Any) -> JsonObject:
    return {"dedicatedCpuPlacement": True, **cpu}


def pin(*cpus: int) -> tuple[Pin, ...]:
    return tuple(Pin(vcpu, (cpu,)) for vcpu, cpu in enumerate(cpus))


@pytest.mark.parametrize(
    ("cpu", "tune"),
    [
        pytest.param({"sockets": 2}, None, id="shared CPUs"),
        pytest.param(dedicate(sockets=2), CpuTune(vcpu_pins=pin(0, 2)), id="one CPU per vCPU"),
        pytest.param(
            dedicate(sockets=2, isolateEmulatorThread=True),
            CpuTune(vcpu_pins=pin(0, 2), emulator_pin=(1,)),
            id="additional CPU for the emulator",
        ),
        pytest.param(dedicate(sockets=1, maxSockets=2), CpuTune(vcpu_pins=pin(0)), id="no CPUs for hotpluggable vCPUs"),
        pytest.param(
            dedicate(sockets=2, realtime={}),
            CpuTune(vcpu_pins=pin(0, 2), realtime=Schedule("0-1")),
            id="realtime for all vCPUs",
        ),
        pytest.param(
            dedicate(sockets=3, realtime={"mask": "0-2,^1"}),
            CpuTune(vcpu_pins=pin(0, 2, 1), realtime=Schedule("0-2,^1")),
            id="realtime for some vCPUs",
        ),
    ],
)
def test_vcpus_and_emulator_are_pinned_to_dedicated_cpus(cpu: JsonObject, tune: CpuTune | None) -> None:
    design = design_guest({"cpu": cpu}, host=FOUR)
    assert design.domain.cpu_tune == tune
    assert list_refusals(design) == {}


def test_even_parity_annotation_adds_an_emulator_cpu() -> None:
    cpu = dedicate(sockets=2, isolateEmulatorThread=True)
    even = design_guest({"cpu": cpu}, host=FOUR, annotations=EVEN).domain.cpu_tune
    assert even == CpuTune(vcpu_pins=pin(0, 2), emulator_pin=(1, 3))
    odd = design_guest({"cpu": {**cpu, "sockets": 3}}, host=FOUR, annotations=EVEN).domain.cpu_tune
    assert odd == CpuTune(vcpu_pins=pin(0, 2, 1), emulator_pin=(3,))


@pytest.mark.parametrize(
    ("given", "annotation"),
    [
        pytest.param((1, 3), None, id="assigned by the caller"),
        pytest.param((1, 3), "0-2", id="annotation of the instance is ignored"),
    ],
)
def test_assigned_cpus_are_used(given: tuple[int, ...], annotation: str | None) -> None:
    annotations = {"virtshape.io/assigned-cpus": annotation} if annotation else None
    design = design_guest({"cpu": dedicate(sockets=2)}, host=FOUR, assigned_cpus=given, annotations=annotations)
    assert design.domain.cpu_tune == CpuTune(vcpu_pins=pin(1, 3))


@pytest.mark.parametrize(
    ("domain", "pins"),
    [
        pytest.param({"ioThreadsPolicy": "shared"}, (Pin(1, (0, 2)),), id="on the CPUs of the vCPUs"),
        pytest.param(
            {"ioThreadsPolicy": "supplementalPool", "ioThreads": {"supplementalPoolThreadCount": 2}},
            (Pin(1, (1,)), Pin(2, (3,))),
            id="on dedicated CPUs",
        ),
        pytest.param(
            {"ioThreadsPolicy": "shared", "cpu": dedicate(sockets=2, isolateEmulatorThread=True)},
            (Pin(1, (1,)),),
            id="with an isolated emulator thread",
        ),
    ],
)
def test_io_threads_are_pinned(domain: JsonObject, pins: tuple[Pin, ...]) -> None:
    disks = {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}
    design = design_guest({"cpu": dedicate(sockets=2), "devices": disks, **domain}, host=FOUR)
    assert design.domain.iothreads == len(pins)
    assert design.domain.cpu_tune is not None
    assert design.domain.cpu_tune.iothread_pins == pins


@pytest.mark.parametrize(
    ("domain", "refusals"),
    [
        pytest.param(
            {"cpu": dedicate(sockets=5)},
            {"cpu.dedicatedCpuPlacement": "needs a CPU for each of 5 vCPUs; this host has 4 available"},
            id="too many vCPUs",
        ),
        pytest.param(
            {"cpu": dedicate(sockets=4, isolateEmulatorThread=True)},
            {"cpu.dedicatedCpuPlacement": "needs a CPU for each of 4 vCPUs and 1 more; this host has 4 available"},
            id="none left for the emulator",
        ),
        pytest.param(
            {"cpu": {"isolateEmulatorThread": True, "realtime": {}, "numa": {"guestMappingPassthrough": {}}}},
            {
                "cpu.isolateEmulatorThread": "needs dedicatedCpuPlacement",
                "cpu.realtime": "needs dedicatedCpuPlacement",
                "cpu.numa.guestMappingPassthrough": "needs dedicatedCpuPlacement",
            },
            id="fields that need dedicated CPUs",
        ),
        pytest.param(
            {"cpu": dedicate(sockets=2, realtime={"mask": "0-2"})},
            {"cpu.realtime.mask": "0-2 is not a list of vCPUs within 0-1, for example 0-3,^1"},
            id="realtime for vCPUs that do not exist",
        ),
        pytest.param(
            {"ioThreadsPolicy": "many"},
            {"ioThreadsPolicy": "unsupported value many: use one of shared, auto, supplementalPool"},
            id="unknown policy",
        ),
        pytest.param(
            {"ioThreadsPolicy": "auto", "ioThreads": {"supplementalPoolThreadCount": 2}},
            {
                "ioThreads.supplementalPoolThreadCount": "must be at least 1 with ioThreadsPolicy supplementalPool, "
                "and unset otherwise"
            },
            id="a pool without its policy",
        ),
    ],
)
def test_impossible_cpu_pinning_is_refused(domain: JsonObject, refusals: dict[str, str]) -> None:
    assert list_refusals(design_guest(domain, host=FOUR)) == refusals


def test_realtime_is_refused_if_not_permitted() -> None:
    refusals = list_refusals(design_guest({"cpu": dedicate(realtime={})}, host=EMULATING))
    assert refusals == {"cpu.realtime": "realtime scheduling is not permitted on this host"}


def test_realtime_guest_has_the_hint_dedicated_feature() -> None:
    features = design_guest({"cpu": dedicate(realtime={})}).domain.features
    assert features == Features(acpi=True, kvm=Kvm(hint_dedicated=True), pmu=False, vmport=False)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0", (0,)),
        ("0-3,8", (0, 1, 2, 3, 8)),
        ("0-3,^1", (0, 2, 3)),
        (" 4 , 2 ", (2, 4)),
        ("^1", ()),
        ("", None),
        ("3-1", None),
        ("a", None),
        ("1,,2", None),
        ("-1", None),
        ("1234567890", None),
    ],
)
def test_cpu_lists_are_parsed(text: str, numbers: tuple[int, ...] | None) -> None:
    assert parse_numbers(text) == numbers


@given(st.sets(st.integers(0, 300), min_size=1))
def test_formatted_cpu_list_parses_to_the_same_numbers(numbers: set[int]) -> None:
    assert parse_numbers(format_numbers(numbers)) == tuple(sorted(numbers))
