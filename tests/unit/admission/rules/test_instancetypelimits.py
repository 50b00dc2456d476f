import pytest
from tests.support.build import build_instancetype_spec

from virtshape.admission.instancetype import check_instancetype
from virtshape.admission.rules.instancetypelimits import check_sizing_policy
from virtshape.api.model import JsonObject

CPU = "spec.cpu.limits"
MEMORY = "spec.memory.limits"
OPEN: JsonObject = {"cpu": {}, "memory": {}}


def check(**spec: JsonObject) -> list[tuple[str, str]]:
    found = check_sizing_policy(build_instancetype_spec(**{**OPEN, **spec}))
    return [(each.field, each.message) for each in found]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"cpu": {"limits": {}}, "memory": {"limits": {"perVCPU": {}}}},
        {"cpu": {"limits": {"min": 4, "max": 4}}},
        {"cpu": {"limits": {"min": 1, "max": 6, "step": 4}}},
        {"memory": {"limits": {"min": "1Gi", "max": "1024Mi", "step": "1Gi"}}},
        {"cpu": {"guest": 4}, "memory": {"limits": {"perVCPU": {"min": "1Gi", "max": "1Gi"}}}},
        {"memory": {"guest": "4Gi"}, "cpu": {"limits": {"max": 8}}},
        {"memory": {"hugepages": {"pageSize": "2Mi"}, "limits": {"step": "512Mi"}}},
    ],
    ids=[
        "none",
        "empty",
        "one number",
        "maximum that is not a step",
        "one size",
        "fixed vCPUs",
        "fixed memory",
        "hugepages",
    ],
)
def test_valid_sizing_policy_is_accepted(spec: JsonObject) -> None:
    assert check(**spec) == []


@pytest.mark.parametrize(
    ("spec", "violations"),
    [
        pytest.param(
            {"cpu": {"guest": 2, "limits": {}}},
            [
                (
                    CPU,
                    f"{CPU} and spec.cpu.guest are mutually exclusive: limits are for VMs that set the size themselves",
                )
            ],
            id="vCPUs",
        ),
        pytest.param(
            {"cpu": {"topology": {"cores": 2}, "limits": {}}},
            [
                (
                    CPU,
                    (
                        f"{CPU} and spec.cpu.topology are mutually exclusive: "
                        "limits are for VMs that set the size themselves"
                    ),
                )
            ],
            id="topology",
        ),
        pytest.param(
            {"memory": {"guest": "2Gi", "limits": {}}},
            [
                (
                    MEMORY,
                    (
                        f"{MEMORY} and spec.memory.guest are mutually exclusive: "
                        "limits are for VMs that set the size themselves"
                    ),
                )
            ],
            id="memory",
        ),
        pytest.param(
            {
                "cpu": {"limits": {"min": 0, "max": 0, "step": 0}},
                "memory": {"limits": {"min": "0", "max": "-1", "step": "0", "perVCPU": {"min": "0", "max": "0"}}},
            },
            [
                (f"{CPU}.min", f"{CPU}.min must be 1 or more"),
                (f"{CPU}.max", f"{CPU}.max must be 1 or more"),
                (f"{CPU}.step", f"{CPU}.step must be 1 or more"),
                (f"{MEMORY}.min", f"{MEMORY}.min '0': must be greater than 0"),
                (f"{MEMORY}.max", f"{MEMORY}.max '-1': must be greater than 0"),
                (f"{MEMORY}.step", f"{MEMORY}.step '0': must be greater than 0"),
                (f"{MEMORY}.min", f"{MEMORY}.min '0': must not be greater than {MEMORY}.max '-1'"),
                (f"{MEMORY}.perVCPU.min", f"{MEMORY}.perVCPU.min '0': must be greater than 0"),
                (f"{MEMORY}.perVCPU.max", f"{MEMORY}.perVCPU.max '0': must be greater than 0"),
            ],
            id="zero",
        ),
        pytest.param(
            {
                "cpu": {"limits": {"min": 8, "max": 4}},
                "memory": {"limits": {"min": "9Gi", "max": "10G", "perVCPU": {"min": "3Gi", "max": "2Gi"}}},
            },
            [
                (f"{CPU}.min", f"{CPU}.min '8': must not be greater than {CPU}.max '4'"),
                (
                    f"{MEMORY}.perVCPU.min",
                    f"{MEMORY}.perVCPU.min '3Gi': must not be greater than {MEMORY}.perVCPU.max '2Gi'",
                ),
            ],
            id="minimum above the maximum",
        ),
        pytest.param(
            {"cpu": {"limits": {"max": 4, "step": 8}}, "memory": {"limits": {"max": "4Gi", "step": "8Gi"}}},
            [
                (f"{CPU}.max", f"{CPU} allows no number of vCPUs: the smallest is greater than max"),
                (f"{MEMORY}.max", f"{MEMORY} allows no memory size: the smallest is greater than max"),
            ],
            id="step above the maximum",
        ),
        pytest.param(
            {
                "cpu": {"limits": {"min": 5, "max": 7}},
                "memory": {"limits": {"step": "4Gi", "perVCPU": {"min": "1Gi", "max": "1Gi"}}},
            },
            [
                (
                    f"{MEMORY}.perVCPU",
                    f"{MEMORY}.perVCPU: no memory size that {MEMORY} allows suits any allowed number of vCPUs",
                )
            ],
            id="no memory size for any vCPUs",
        ),
        pytest.param(
            {"memory": {"hugepages": {"pageSize": "1Gi"}, "limits": {"min": "512Mi", "step": "1536Mi"}}},
            [
                (
                    f"{MEMORY}.{name}",
                    (
                        f"{MEMORY}.{name} '{size}': must be a multiple of the page size "
                        "spec.memory.hugepages.pageSize '1Gi'"
                    ),
                )
                for name, size in (("min", "512Mi"), ("step", "1536Mi"))
            ],
            id="hugepages",
        ),
    ],
)
def test_all_problems_in_a_sizing_policy_are_reported(spec: JsonObject, violations: list[tuple[str, str]]) -> None:
    assert check(**spec) == violations


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2", "v1beta1"])
def test_size_of_zero_before_v1beta2_can_be_combined_with_limits(version: str) -> None:
    spec = build_instancetype_spec(
        cpu={"guest": 0, "limits": {"max": 8}}, memory={"guest": "0", "limits": {"max": "8Gi"}}
    )
    assert check_instancetype(spec, version).causes == []
