"""Validation of a VM against its instance type and preference."""

from typing import Any

import pytest
from tests.support.admission import check_vm, dry_run_vm
from tests.support.build import (
    build_instancetype_spec,
    build_preference_spec,
    build_vm,
)

from virtshape.api.codec import from_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject
from virtshape.engine.expand import Shape
from virtshape.engine.topology import TOPOLOGIES

DOMAIN = "spec.template.spec.domain"
NO_MEMORY = (f"{DOMAIN}.memory.guest",)
SIZELESS: JsonObject = {"cpu": None, "memory": None}
SPREAD: JsonObject = {"cpu": {"preferredCPUTopology": "spread"}}


def check(instancetype: JsonObject | None = None, preference: JsonObject | None = None, **vm: Any) -> list[FieldError]:
    """Return the conflicts of a VM that refers to the given instance type and preference."""
    shape = Shape(
        None if instancetype is None else build_instancetype_spec(**instancetype),
        None if preference is None else build_preference_spec(**preference),
    )
    named: JsonObject = {} if instancetype is None else {"instancetype": "x"}
    named |= {} if preference is None else {"preference": "y"}
    return check_vm(build_vm(**named, **vm), shape)


def fields(conflicts: list[FieldError]) -> list[tuple[str, ...]]:
    return [conflict.fields for conflict in conflicts]


@pytest.mark.parametrize(
    ("vm", "found"),
    [
        ({"memory": "1Gi"}, []),
        ({"memory": "1Gi", "cpu_guest": 4}, []),
        ({"domain": {"resources": {"requests": {"memory": "1Gi"}}}}, []),
        ({}, []),
        ({"memory": "0"}, [NO_MEMORY]),
        ({"memory": "1Gi", "cpu_guest": 0}, [(f"{DOMAIN}.cpu.guest",)]),
        ({"memory": "1Gi", "cpu_guest": 4, "domain": {"cpu": {"cores": 2}}}, [(f"{DOMAIN}.cpu.cores",)]),
        ({"memory": "1Gi", "domain": {"cpu": {"cores": 2}, "resources": {"limits": {"cpu": "4"}}}}, []),
    ],
    ids=[
        "memory",
        "cpu.guest",
        "request",
        "no memory",
        "zero memory",
        "zero vCPUs",
        "number and cores",
        "cores and limits",
    ],
)
def test_sizes_of_a_vm_without_matchers_are_checked(vm: JsonObject, found: list[tuple[str, ...]]) -> None:
    assert fields(check(**vm)) == found


def list_warnings(**vm: Any) -> list[str]:
    return [one.message for one in dry_run_vm(build_vm(**vm), Shape()).warnings]


@pytest.mark.parametrize("named", [{}, {"preference": "linux"}], ids=["no matchers", "only a preference"])
def test_vm_without_instancetype_and_memory_causes_a_warning(named: JsonObject) -> None:
    (warning,) = list_warnings(**named)
    assert f"set {DOMAIN}.memory.guest in the VM" in warning
    assert "choose an instance type that sets spec.memory.guest" in warning
    assert list_warnings(**named, memory="1Gi") == []


ZERO: JsonObject = {"cpu": {"guest": 0}, "memory": {"guest": "0"}}


def test_size_of_0_in_an_instancetype_counts_as_no_size() -> None:
    assert check(ZERO, cpu_guest=4, memory="4Gi") == []
    assert check(ZERO, SPREAD, cpu_guest=4, domain={"resources": {"requests": {"memory": "1Gi"}}}) == []
    assert check(ZERO) == []
    assert fields(check(ZERO, memory="0")) == [NO_MEMORY]
    shape = Shape(build_instancetype_spec(**ZERO))
    (warning,) = dry_run_vm(build_vm(instancetype="x"), shape).warnings
    assert "choose an instance type that sets spec.memory.guest" in warning.message


def test_vm_may_set_sizes_that_are_0_in_its_instancetype() -> None:
    shape = Shape(build_instancetype_spec(**ZERO))
    vm = build_vm(instancetype="x", cpu_guest=4, memory="4Gi")
    domain = dry_run_vm(vm, shape).spec.domain
    assert domain.cpu is not None
    assert domain.memory is not None
    assert (domain.cpu.sockets, domain.memory.guest) == (4, "4Gi")


def test_vm_with_a_missing_instancetype_requires_no_memory() -> None:
    missing: list[JsonObject] = [{"instancetype": "later"}, {"flavor": "later"}]
    for named in missing:
        assert check_vm(build_vm(**named), Shape()) == []
        assert list_warnings(**named) == []


@pytest.mark.parametrize(
    ("domain", "found"),
    [
        pytest.param({"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}}, [], id="both given"),
        pytest.param({"memory": {"guest": "4Gi"}}, [], id="vcpus missing"),
        pytest.param({"cpu": {"guest": 4}}, ["memory.guest"], id="memory missing"),
        pytest.param({}, ["memory.guest"], id="both missing"),
        pytest.param(
            {"cpu": {"guest": 4, "cores": 2}, "memory": {"guest": "4Gi"}}, ["cpu.cores"], id="number and cores"
        ),
        pytest.param({"cpu": {"sockets": 2}, "memory": {"guest": "4Gi"}}, ["cpu.sockets"], id="sockets"),
        pytest.param(
            {"memory": {"guest": "4Gi"}, "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}},
            ["resources.requests.cpu"],
            id="requests",
        ),
        pytest.param(
            {"memory": {"guest": "4Gi"}, "resources": {"limits": {"cpu": "1", "memory": "4Gi"}}},
            ["resources.limits.cpu"],
            id="limits",
        ),
    ],
)
def test_sizes_of_a_vm_whose_instancetype_has_no_size_are_checked(domain: JsonObject, found: list[str]) -> None:
    assert fields(check(SIZELESS, domain=domain)) == [(f"{DOMAIN}.{field}",) for field in found]


@pytest.mark.parametrize(
    ("instancetype", "domain", "found"),
    [
        pytest.param({}, {"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}}, ["cpu.guest", "memory.guest"], id="both"),
        pytest.param({"cpu": None}, {"memory": {"guest": "4Gi"}}, ["memory.guest"], id="memory"),
        pytest.param({"memory": None}, {"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}}, ["cpu.guest"], id="vcpus"),
        pytest.param({"memory": None}, {"memory": {"guest": "4Gi"}}, [], id="vcpus given once"),
        pytest.param({"cpu": None}, {"cpu": {"guest": 4}}, [], id="memory given once"),
    ],
)
def test_only_sizes_set_by_both_vm_and_instancetype_conflict(
    instancetype: JsonObject, domain: JsonObject, found: list[str]
) -> None:
    assert fields(check(instancetype, domain=domain)) == [(f"{DOMAIN}.{field}",) for field in found]


@pytest.mark.parametrize("name", [*TOPOLOGIES, None])
@pytest.mark.parametrize("vcpus", [3, 4])
def test_vcpus_of_the_vm_are_rejected_only_if_they_cannot_be_spread(name: str | None, vcpus: int) -> None:
    preference = {"cpu": {"preferredCPUTopology": name}}
    found = fields(check(SIZELESS, preference, cpu_guest=vcpus, memory="1Gi"))
    assert found == ([(f"{DOMAIN}.cpu.guest",)] if (name, vcpus) == ("spread", 3) else [])


@pytest.mark.parametrize(
    ("cpu", "field"),
    [
        ({"guest": 3}, "instancetype.spec.cpu.guest"),
        ({"topology": {"sockets": 3}}, "instancetype.spec.cpu.topology"),
        ({"guest": 4}, None),
        ({"topology": {"cores": 2, "sockets": 3}}, None),
    ],
)
def test_vcpus_of_an_instancetype_are_rejected_only_if_they_cannot_be_spread(
    cpu: JsonObject, field: str | None
) -> None:
    assert fields(check({"cpu": cpu}, SPREAD)) == ([] if field is None else [(field,)])


def test_spread_problems_and_conflicts_are_reported_together() -> None:
    found = check({"cpu": {"guest": 3}}, SPREAD, domain={"cpu": {"cores": 2}}, memory="1Gi")
    assert fields(found) == [
        ("instancetype.spec.cpu.guest",),
        (f"{DOMAIN}.cpu.cores",),
        (f"{DOMAIN}.memory.guest",),
    ]


@pytest.mark.parametrize(
    ("instancetype", "vm", "required", "found"),
    [
        pytest.param({}, {}, 2, None, id="enough"),
        pytest.param({}, {}, 4, "spec.instancetype", id="too few in the instance type"),
        pytest.param({"cpu": {"topology": {"cores": 2, "threads": 2}}}, {}, 4, None, id="enough as a topology"),
        pytest.param(
            {"cpu": {"topology": {"cores": 2, "threads": 2}}}, {}, 5, "spec.instancetype", id="too few as a topology"
        ),
        pytest.param(SIZELESS, {"cpu_guest": 4, "memory": "1Gi"}, 4, None, id="enough in the VM"),
        pytest.param(SIZELESS, {"cpu_guest": 4, "memory": "1Gi"}, 5, f"{DOMAIN}.cpu.guest", id="too few in the VM"),
        pytest.param(None, {"cpu_guest": 4, "memory": "1Gi"}, 4, None, id="enough without an instance type"),
        pytest.param(
            None, {"cpu_guest": 4, "memory": "1Gi"}, 5, f"{DOMAIN}.cpu.guest", id="too few without an instance type"
        ),
        pytest.param(SIZELESS, {"memory": "1Gi"}, 1, None, id="one vCPU is enough without a size"),
        pytest.param(
            SIZELESS,
            {"memory": "1Gi"},
            2,
            f"{DOMAIN}.cpu.guest",
            id="one vCPU is too few without a size",
        ),
        pytest.param(None, {"memory": "1Gi"}, 1, None, id="one vCPU is enough without sizes"),
        pytest.param(None, {"memory": "1Gi"}, 2, f"{DOMAIN}.cpu.sockets", id="one vCPU is too few without sizes"),
    ],
)
@pytest.mark.parametrize("name", [None, "sockets"])
def test_vcpus_are_rejected_only_if_the_preference_requires_more(
    instancetype: JsonObject | None, vm: JsonObject, required: int, found: str | None, name: str | None
) -> None:
    preference = {"requirements": {"cpu": {"guest": required}}, "cpu": {"preferredCPUTopology": name}}
    conflicts = check(instancetype, preference, **vm)
    assert fields(conflicts) == ([] if found is None else [(found,)])
    for conflict in conflicts:
        assert conflict.message.startswith("failure checking preference requirements: insufficient CPU resources of ")
        assert conflict.reason == "FieldValueNotFound"


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_vcpus_of_the_vm_meet_requirements_with_any_topology(name: str) -> None:
    preference = {"requirements": {"cpu": {"guest": 4}}, "cpu": {"preferredCPUTopology": name}}
    assert check(SIZELESS, preference, cpu_guest=4, memory="1Gi") == []
    assert check(None, preference, cpu_guest=4, memory="1Gi") == []


@pytest.mark.parametrize(
    ("instancetype", "vm", "found"),
    [
        ({}, {}, "spec.instancetype"),
        (SIZELESS, {"memory": "1Gi"}, f"{DOMAIN}.memory"),
        (SIZELESS, {"memory": "4Gi"}, None),
        (SIZELESS, {"domain": {"resources": {"requests": {"memory": "4Gi"}}}}, None),
        (None, {"memory": "1Gi"}, f"{DOMAIN}.memory"),
        ({"memory": {"guest": "4Gi", "overcommitPercent": 50}}, {}, None),
    ],
    ids=["instance type", "VM", "enough in the VM", "enough as a request", "no instance type", "overcommitted"],
)
def test_memory_is_rejected_only_if_the_preference_requires_more(
    instancetype: JsonObject | None, vm: JsonObject, found: str | None
) -> None:
    conflicts = check(instancetype, {"requirements": {"memory": {"guest": "4Gi"}}}, **vm)
    assert fields(conflicts) == ([] if found is None else [(found,)])


@pytest.mark.parametrize(
    ("own", "preferred", "met"),
    [(None, None, False), (None, "arm64", True), ("amd64", "arm64", False), ("arm64", None, True)],
)
def test_architecture_must_match_the_preference(own: str | None, preferred: str | None, met: bool) -> None:
    preference = {"requirements": {"architecture": "arm64"}, "preferredArchitecture": preferred}
    assert (check({}, preference, template={"architecture": own}) == []) is met


def test_all_unmet_requirements_are_reported_at_once() -> None:
    required = {"cpu": {"guest": 8}, "memory": {"guest": "8Gi"}, "architecture": "s390x"}
    assert fields(check({}, {"requirements": required})) == [
        ("spec.instancetype",),
        ("spec.instancetype",),
        ("spec.template.spec.architecture",),
    ]


def test_unsupported_default_interface_is_a_conflict() -> None:
    configuration = from_tree({"network": {"defaultNetworkInterface": "slirp"}}, KubeVirtConfiguration)
    shape = Shape(build_instancetype_spec())
    assert fields(check_vm(build_vm(instancetype="x"), shape, configuration)) == [()]
