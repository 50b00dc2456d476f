import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.build import build_instancetype_spec, build_spec

from virtshape.api.instancetype.v1beta2 import CPULimits, VirtualMachineInstancetypeSpec
from virtshape.api.model import JsonObject
from virtshape.api.quantity import Quantity
from virtshape.engine.sizingpolicy import build_cpu_limits, check_asked_size, has_limits, read_policy

CPU = "spec.domain.cpu.guest"
MEMORY = "spec.domain.memory.guest"
BALANCED: JsonObject = {
    "cpu": {"limits": {"min": 2, "max": 16, "step": 2}},
    "memory": {"limits": {"min": "4Gi", "max": "64Gi", "step": "1Gi", "perVCPU": {"min": "1Gi", "max": "8Gi"}}},
}


def limit(**spec: JsonObject) -> VirtualMachineInstancetypeSpec:
    """Build an instance type without a size, with these limits."""
    return build_instancetype_spec(**{"cpu": {}, "memory": {}, **spec})


def check(spec: VirtualMachineInstancetypeSpec, domain: JsonObject) -> list[tuple[str, str]]:
    """Return the field and the message of each violation; the leading field is removed from the message."""
    found = check_asked_size(build_spec(domain).domain, spec, "spec")
    assert all(each.rule == "sizing-policy" for each in found)
    return [(each.field, each.message.removeprefix(f"{each.field} ")) for each in found]


def ask(vcpus: int, memory: str) -> JsonObject:
    return {"cpu": {"guest": vcpus}, "memory": {"guest": memory}}


def test_size_has_no_violations_without_an_instance_type_or_limits() -> None:
    assert check_asked_size(build_spec(ask(1000, "1Ti")).domain, None, "spec") == []
    assert check(limit(), ask(1000, "1Ti")) == []
    assert not has_limits(limit())


@pytest.mark.parametrize(("vcpus", "memory"), [(2, "4Gi"), (4, "4096Mi"), (16, "64Gi"), (2, "16Gi"), (8, "9Gi")])
def test_allowed_sizes_have_no_violations(vcpus: int, memory: str) -> None:
    assert check(limit(**BALANCED), ask(vcpus, memory)) == []


@pytest.mark.parametrize(
    ("vcpus", "memory", "violations"),
    [
        pytest.param(
            5,
            "8Gi",
            [
                (
                    CPU,
                    "'5': the instance type allows 2 to 16 vCPUs in steps of 2; the nearest allowed values are 4 and 6",
                )
            ],
            id="between two steps",
        ),
        pytest.param(
            1,
            "4Gi",
            [(CPU, "'1': the instance type allows 2 to 16 vCPUs in steps of 2; the nearest allowed value is 2")],
            id="below the minimum",
        ),
        pytest.param(
            99,
            "64Gi",
            [(CPU, "'99': the instance type allows 2 to 16 vCPUs in steps of 2; the nearest allowed value is 16")],
            id="above the maximum",
        ),
        pytest.param(
            2,
            "17Gi",
            [
                (
                    MEMORY,
                    (
                        "'17Gi': the instance type allows 4Gi to 16Gi in steps of 1Gi with 2 vCPUs; "
                        "the nearest allowed value is 16Gi"
                    ),
                )
            ],
            id="too much for each vCPU",
        ),
        pytest.param(
            12,
            "12900Mi",
            [
                (
                    MEMORY,
                    (
                        "'12900Mi': the instance type allows 12Gi to 64Gi in steps of 1Gi with 12 vCPUs; "
                        "the nearest allowed values are 12Gi and 13Gi"
                    ),
                )
            ],
            id="between two memory steps",
        ),
        pytest.param(
            7,
            "2Gi",
            [
                (
                    CPU,
                    "'7': the instance type allows 2 to 16 vCPUs in steps of 2; the nearest allowed values are 6 and 8",
                ),
                (
                    MEMORY,
                    (
                        "'2Gi': the instance type allows 8Gi to 64Gi in steps of 1Gi with 8 vCPUs; "
                        "the nearest allowed value is 8Gi"
                    ),
                ),
            ],
            id="both, and the memory suits the suggested vCPUs",
        ),
    ],
)
def test_violation_names_the_nearest_allowed_values(vcpus: int, memory: str, violations: list[tuple[str, str]]) -> None:
    assert check(limit(**BALANCED), ask(vcpus, memory)) == violations


def test_size_steps_are_counted_from_the_minimum() -> None:
    spec = limit(cpu={"limits": {"min": 1, "max": 6, "step": 2}})
    assert [n for n in range(1, 9) if not check(spec, ask(n, "1Gi"))] == [1, 3, 5]


def test_size_steps_without_a_minimum_are_multiples_of_the_step() -> None:
    spec = limit(cpu={"limits": {"max": 6, "step": 2}}, memory={"limits": {"step": "2Gi"}})
    assert [n for n in range(1, 9) if not check(spec, ask(n, "2Gi"))] == [2, 4, 6]
    assert check(spec, ask(2, "3Gi")) == [
        (
            MEMORY,
            "'3Gi': the instance type allows 2Gi or more in steps of 2Gi; the nearest allowed values are 2Gi and 4Gi",
        )
    ]


def test_vm_without_vcpus_has_the_default_of_one() -> None:
    assert check(limit(cpu={"limits": {"min": 2}}), {"memory": {"guest": "1Gi"}}) == [
        (
            CPU,
            (
                "is not set, and the default is 1: the instance type allows 2 or more vCPUs; "
                "the nearest allowed value is 2"
            ),
        )
    ]


def test_sizing_policy_does_not_report_zero_vcpus_or_missing_memory() -> None:
    assert check(limit(**BALANCED), {"cpu": {"guest": 0}}) == []


@pytest.mark.parametrize(
    ("domain", "field"),
    [
        ({"resources": {"requests": {"memory": "1Gi"}}}, "spec.domain.resources.requests.memory"),
        ({"resources": {"limits": {"memory": "1Gi"}}}, "spec.domain.resources.limits.memory"),
        ({"memory": {"hugepages": {"pageSize": "1Gi"}}}, MEMORY),
    ],
    ids=["request", "limit", "hugepages"],
)
def test_limits_apply_to_the_default_memory_if_memory_guest_is_unset(domain: JsonObject, field: str) -> None:
    spec = limit(memory={"limits": {"min": "2Gi"}})
    assert [found for found, _ in check(spec, domain)] == [field]


def test_memory_limit_per_vcpu_is_multiplied_by_the_vcpus_of_the_instance_type() -> None:
    spec = limit(cpu={"guest": 4}, memory={"limits": {"perVCPU": {"max": "2Gi"}}})
    assert check(spec, {"memory": {"guest": "8Gi"}}) == []
    assert check(spec, {"memory": {"guest": "9Gi"}}) == [
        (MEMORY, "'9Gi': the instance type allows up to 8Gi with 4 vCPUs; the nearest allowed value is 8Gi")
    ]


def test_memory_fixed_by_the_instance_type_is_not_checked() -> None:
    spec = limit(cpu={"limits": {"max": 4}}, memory={"guest": "2Gi"})
    assert [field for field, _ in check(spec, {"cpu": {"guest": 5}})] == [CPU]


def test_memory_steps_are_huge_pages_if_the_policy_sets_no_step() -> None:
    spec = limit(memory={"hugepages": {"pageSize": "1Gi"}, "limits": {"perVCPU": {"max": "1536Mi"}}})
    assert check(spec, ask(3, "5Gi")) == [
        (
            MEMORY,
            "'5Gi': the instance type allows 1Gi to 4Gi in steps of 1Gi with 3 vCPUs; the nearest allowed value is 4Gi",
        )
    ]


def test_vcpu_count_without_an_allowed_memory_size_is_rejected() -> None:
    spec = limit(memory={"limits": {"step": "4Gi", "perVCPU": {"min": "1Gi", "max": "1Gi"}}})
    assert check(spec, ask(6, "6Gi")) == [
        (CPU, "'6': the instance type allows no memory size with 6 vCPUs; the nearest allowed values are 4 and 8"),
        (MEMORY, "'6Gi': the instance type allows 8Gi with 8 vCPUs; the nearest allowed value is 8Gi"),
    ]


def test_sizing_policy_that_allows_no_size_has_no_nearest_allowed_values() -> None:
    spec = limit(cpu={"limits": {"min": 4, "max": 2}}, memory={"limits": {"min": "4Gi", "max": "2Gi"}})
    assert check(spec, ask(3, "3Gi")) == [(CPU, "'3': the instance type allows no vCPUs")]
    assert read_policy(spec).find_nearest_size(3, Quantity("3Gi")) is None


def test_invalid_limits_of_a_sizing_policy_are_ignored() -> None:
    limits = {"min": "0", "max": "-1", "step": "-5", "perVCPU": {"min": "-1", "max": "0"}}
    spec = limit(cpu={"limits": {"min": 0, "max": 0, "step": 0}}, memory={"limits": limits})
    assert check(spec, ask(3, "3Gi")) == []


def test_nearest_memory_has_the_quantity_format_of_the_policy() -> None:
    spec = limit(memory={"limits": {"step": "1G"}})
    assert check(spec, ask(1, "1Gi"))[0][1].endswith("the nearest allowed values are 1G and 2G")


@pytest.mark.parametrize(
    ("vcpus", "memory", "size"),
    [
        (1, "1Gi", (2, "4Gi")),
        (5, "10.5Gi", (6, "11Gi")),
        (2, "20Gi", (4, "20Gi")),
        (17, "1Gi", None),
        (2, "65Gi", None),
    ],
)
def test_find_size_returns_the_smallest_sufficient_size(vcpus: int, memory: str, size: tuple[int, str] | None) -> None:
    assert read_policy(limit(**BALANCED)).find_size(vcpus, Quantity(memory)) == size


@pytest.mark.parametrize(
    ("memory", "limits"),
    [("9Gi", (2, 16, 2)), ("33Gi", (6, 16, 2)), ("64Gi", (8, 16, 2))],
)
def test_vcpus_allowed_with_a_memory_size_are_converted_to_cpu_limits(
    memory: str, limits: tuple[int, int, int]
) -> None:
    policy = read_policy(limit(**{**BALANCED, "memory": {"limits": {"step": "1Gi", "perVCPU": {"max": "8Gi"}}}}))
    found = build_cpu_limits(policy.list_vcpus(Quantity(memory).value()))
    assert (found.min, found.max, found.step) == limits


def test_cpu_limits_have_no_maximum_if_the_allowed_vcpus_have_none() -> None:
    policy = read_policy(limit(memory={"limits": {"perVCPU": {"max": "1Gi"}}}))
    assert build_cpu_limits(policy.list_vcpus(Quantity("2Gi").value())) == CPULimits(min=2)
    assert not read_policy(limit(**BALANCED)).list_vcpus(Quantity("9.5Gi").value())


def optional(values: st.SearchStrategy[int]) -> st.SearchStrategy[int | None]:
    return st.one_of(st.none(), values)


SMALL = optional(st.integers(1, 12))
UNLIMITED = 1000
"""More than any size that these limits can lead to."""


@given(SMALL, SMALL, SMALL, SMALL, SMALL, SMALL, SMALL, SMALL, st.integers(1, 16), st.integers(1, 40))
def test_violations_agree_with_an_enumeration_of_all_sizes(
    least: int | None,
    most: int | None,
    step: int | None,
    least_memory: int | None,
    most_memory: int | None,
    memory_step: int | None,
    per_least: int | None,
    per_most: int | None,
    vcpus: int,
    memory: int,
) -> None:
    names = ("min", "max", "step")
    spec = limit(
        cpu={"limits": dict(zip(names, (least, most, step), strict=True))},
        memory={
            "limits": {
                **dict(zip(names, (least_memory, most_memory, memory_step), strict=True)),
                "perVCPU": {"min": per_least, "max": per_most},
            }
        },
    )

    def allows(value: int, first: int | None, last: int | None, by: int | None) -> bool:
        start = first or by or 1
        return start <= value <= (last or UNLIMITED) and (value - start) % (by or 1) == 0

    def is_allowed(count: int, size: int) -> bool:
        fits_ratio = (per_least or 0) * count <= size <= (per_most or UNLIMITED) * count
        return allows(count, least, most, step) and allows(size, least_memory, most_memory, memory_step) and fits_ratio

    allowed = [(n, m) for n in range(1, 60) for m in range(1, 201) if is_allowed(n, m)]
    problems = check(spec, ask(vcpus, str(memory)))
    assert (not problems) == is_allowed(vcpus, memory)
    nearest = read_policy(spec).find_nearest_size(vcpus, Quantity(memory))
    if allowed:
        assert nearest is not None
        assert is_allowed(nearest.vcpus, nearest.memory.value())
        assert check(spec, ask(nearest.vcpus, str(nearest.memory))) == []
