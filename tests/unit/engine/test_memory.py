"""Guest memory, set by the instance type or the VM, and the memory request of the guest."""

import pytest
from tests.support.build import build_spec
from tests.support.engine import WITHOUT_SIZE, apply_to_domain, apply_trees, list_conflicts

from virtshape.api.fielderror import FieldError
from virtshape.api.model import JsonObject
from virtshape.api.quantity import Quantity
from virtshape.engine.memory import default_memory, overcommit

FIELD = "spec.template.spec.domain.memory.guest"
NO_MEMORY = FieldError(
    FIELD,
    f"no memory: set {FIELD} in the VM, or choose an instance type that sets spec.memory.guest",
    "FieldValueRequired",
    "no-memory",
)


@pytest.mark.parametrize(
    ("guest", "percent", "request_"),
    [
        ("1Gi", 15, "912680576"),
        ("1Gi", 50, "512Mi"),
        ("1Gi", 100, "0"),
        ("10Gi", 20, "8Gi"),
        ("1G", 50, "500M"),
        ("1e9", 50, "500e6"),
        ("2048", 50, "1024"),
    ],
)
def test_overcommit_lowers_the_memory_request_and_preserves_the_quantity_format(
    guest: str, percent: int, request_: str
) -> None:
    assert overcommit(Quantity(guest), percent) == request_


@pytest.mark.parametrize("percent", [None, 0])
def test_memory_request_is_not_set_without_overcommit(percent: int | None) -> None:
    given: JsonObject = {"memory": {"guest": "1Gi", "overcommitPercent": percent}}
    assert "resources" not in apply_to_domain(instancetype=given)


def test_setting_the_memory_request_keeps_other_resources() -> None:
    resources = {"requests": {"example.com/fpga": "1"}, "limits": {"example.com/fpga": "1"}}
    domain = apply_to_domain({"resources": resources}, {"memory": {"guest": "1Gi", "overcommitPercent": 50}})
    assert domain["resources"] == {
        "requests": {"example.com/fpga": "1", "memory": "512Mi"},
        "limits": {"example.com/fpga": "1"},
    }


@pytest.mark.parametrize(
    ("own", "given", "clashes"),
    [
        pytest.param({"memory": {"guest": "0"}}, {"guest": "1Gi"}, ["domain.memory.guest"], id="zero VM memory"),
        pytest.param(
            {"resources": {"requests": {"memory": "0"}}},
            {"guest": "1Gi"},
            ["domain.resources.requests.memory"],
            id="zero request",
        ),
        pytest.param(
            {"resources": {"limits": {"memory": "1Gi"}}},
            {"guest": "1Gi"},
            ["domain.resources.limits.memory"],
            id="limits",
        ),
        pytest.param(
            {
                "memory": {"guest": "1Gi", "hugepages": {}, "maxGuest": "2Gi"},
                "resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}},
            },
            {"guest": "1Gi", "hugepages": {}, "maxGuest": "2Gi"},
            [
                "domain.memory.guest",
                "domain.memory.hugepages",
                "domain.memory.maxGuest",
                "domain.resources.requests.memory",
                "domain.resources.limits.memory",
            ],
            id="all at once",
        ),
        pytest.param({"memory": {"hugepages": {}}}, {"guest": "1Gi"}, [], id="VM hugepages"),
        pytest.param({"memory": {"maxGuest": "2Gi"}}, {"guest": "1Gi"}, [], id="VM maxGuest"),
    ],
)
def test_only_memory_set_by_both_vm_and_instance_type_conflicts(
    own: JsonObject, given: JsonObject, clashes: list[str]
) -> None:
    assert list_conflicts(own, {"memory": given}) == clashes


@pytest.mark.parametrize(
    ("domain", "memory"),
    [
        ({"memory": {"guest": "4Gi"}}, {"guest": "4Gi"}),
        ({"memory": {"guest": "4Gi"}, "resources": {"requests": {"memory": "2Gi"}}}, {"guest": "4Gi"}),
        ({"resources": {"requests": {"memory": "2Gi"}}}, None),
        ({"resources": {"limits": {"memory": "2Gi"}}}, None),
        ({"memory": {"hugepages": {"pageSize": "1Gi"}}}, {"hugepages": {"pageSize": "1Gi"}}),
    ],
    ids=["guest", "guest and request", "request", "limit", "hugepages"],
)
@pytest.mark.parametrize("given", [None, {}], ids=["no memory section", "empty memory section"])
def test_vm_may_set_memory_if_the_instance_type_does_not(
    domain: JsonObject, memory: JsonObject | None, given: JsonObject | None
) -> None:
    shaped = apply_to_domain(domain, {"cpu": {"guest": 1}, "memory": given})
    assert shaped.get("memory") == (memory if given is None else memory or {})
    assert shaped.get("resources") == domain.get("resources")


@pytest.mark.parametrize(
    "domain",
    [
        {},
        {"memory": {}},
        {"memory": {"maxGuest": "8Gi"}},
        {"memory": {"hugepages": {}}},
        {"resources": {"requests": {"memory": "0"}}},
        {"resources": {"requests": {"cpu": "0"}}},
    ],
    ids=["nothing", "empty", "only a maximum", "hugepages without a size", "zero request", "CPU request"],
)
@pytest.mark.parametrize(
    "memory",
    [None, {}, {"hugepages": {"pageSize": "2Mi"}}, {"overcommitPercent": 50}, {"maxGuest": "8Gi"}],
    ids=["none", "empty", "hugepages", "overcommitted", "maximum"],
)
def test_missing_memory_conflict_names_both_fields_for_memory(domain: JsonObject, memory: JsonObject | None) -> None:
    conflicts = apply_trees(domain, {"cpu": None, "memory": memory}).conflicts
    assert NO_MEMORY in conflicts


@pytest.mark.parametrize("amount", ["0", "0Gi", "-1Gi"])
def test_zero_or_negative_memory_is_a_conflict(amount: str) -> None:
    conflicts = apply_trees({"memory": {"guest": amount}}, WITHOUT_SIZE).conflicts
    assert conflicts == [FieldError(FIELD, f"{FIELD} '{Quantity(amount)}': must be greater than 0", rule="no-memory")]


def test_overcommit_applies_to_memory_of_the_vm() -> None:
    domain = apply_to_domain({"memory": {"guest": "4Gi"}}, {"cpu": None, "memory": {"overcommitPercent": 25}})
    assert domain["memory"] == {"guest": "4Gi"}
    assert domain["resources"] == {"requests": {"memory": "3Gi"}}


def test_overcommit_does_not_override_the_memory_request_of_the_vm() -> None:
    domain = {"memory": {"guest": "4Gi"}, "resources": {"requests": {"memory": "2Gi"}}}
    shaped = apply_to_domain(domain, {"cpu": None, "memory": {"overcommitPercent": 25}})
    assert shaped["resources"] == {"requests": {"memory": "2Gi"}}


def test_hugepages_and_max_guest_apply_to_memory_of_the_vm() -> None:
    given = {"hugepages": {"pageSize": "2Mi"}, "maxGuest": "8Gi"}
    domain = apply_to_domain({"memory": {"guest": "4Gi"}}, {"cpu": None, "memory": given})
    assert domain == {"devices": {}, "memory": {"guest": "4Gi", **given}}


@pytest.mark.parametrize(
    ("domain", "memory"),
    [
        ({}, None),
        ({"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}}, "1Gi"),
        ({"resources": {"requests": {"memory": "0"}, "limits": {"memory": "2Gi"}}}, "2Gi"),
        ({"memory": {"hugepages": {"pageSize": "2Mi"}}, "resources": {"limits": {"memory": "2Gi"}}}, "2Gi"),
        ({"memory": {"hugepages": {"pageSize": "2Mi"}}}, "2Mi"),
        ({"memory": {"hugepages": {"pageSize": "huge"}}}, None),
    ],
    ids=["nothing", "request", "limit", "limit before hugepages", "one huge page", "no page size"],
)
def test_default_memory_comes_from_requests_limits_or_hugepages(domain: JsonObject, memory: str | None) -> None:
    assert default_memory(build_spec(domain).domain) == memory
