from decimal import Decimal
from typing import Any

import pytest
from tests.support.build import build_instancetype_spec, build_preference_spec

from virtshape.admission.recommend import Need, Offer, explain_fit, find_waste, format_percent, recommend
from virtshape.api.quantity import Quantity

CLUSTER = "VirtualMachineClusterInstancetype"


def build_offer(name: str, vcpus: int | None, memory: str | None, kind: str = CLUSTER, **traits: Any) -> Offer:
    cpu = {"guest": vcpus, "dedicatedCPUPlacement": traits.pop("dedicated", None)}
    sized = {"guest": memory, "hugepages": traits.pop("hugepages", None)}
    return Offer(kind, name, build_instancetype_spec(cpu=cpu, memory=sized, **traits))


def build_need(memory_min: str | None = None, memory_max: str | None = None, **need: Any) -> Need:
    preference = build_preference_spec(**need.pop("preference", {}))
    least, most = (text and Quantity(text) for text in (memory_min, memory_max))
    return Need(memory_min=least or None, memory_max=most or None, preference=preference, **need)


OFFERS = [
    build_offer("custom", None, None),
    build_offer("half-open", 2, None),
    build_offer("large", 4, "8Gi"),
    build_offer("fast", 4, "8Gi", dedicated=True, hugepages={"pageSize": "2Mi"}),
    build_offer("also-large", 4, "8Gi"),
    build_offer("wide", 4, "4Gi"),
    build_offer("small", 1, "2Gi"),
    build_offer("medium", 2, "4Gi"),
    build_offer("seeing", 8, "16Gi", gpus=[{"name": "g", "deviceName": "maker.com/gpu"}]),
    Offer(CLUSTER, "laid-out", build_instancetype_spec(cpu={"topology": {"sockets": 2, "cores": 3}})),
]


@pytest.mark.parametrize(
    ("need", "names"),
    [
        pytest.param(
            {},
            ["small", "medium", "wide", "also-large", "large", "fast", "laid-out", "seeing"],
            id="no filter",
        ),
        pytest.param({"cpu_min": 4}, ["wide", "also-large", "large", "fast", "laid-out", "seeing"], id="vCPUs"),
        pytest.param({"cpu_min": 2, "cpu_max": 3}, ["medium"], id="range of vCPUs"),
        pytest.param({"cpu_min": 6, "cpu_max": 6}, ["laid-out"], id="vCPUs of a topology"),
        pytest.param(
            {"memory_min": "8192Mi"}, ["also-large", "large", "fast", "seeing"], id="memory as another quantity"
        ),
        pytest.param({"memory_max": "3Gi"}, ["small", "laid-out"], id="memory at most"),
        pytest.param({"dedicated": True}, ["fast"], id="dedicated CPUs"),
        pytest.param({"cpu_min": 4, "cpu_max": 4, "dedicated": False}, ["wide", "also-large", "large"], id="no match"),
        pytest.param({"hugepages": True}, ["fast"], id="hugepages"),
        pytest.param({"memory_min": "8Gi", "hugepages": False}, ["also-large", "large", "seeing"], id="no hugepages"),
        pytest.param({"gpus": 1}, ["seeing"], id="GPU"),
        pytest.param({"gpus": 2}, [], id="too many GPUs"),
        pytest.param(
            {"preference": {"requirements": {"cpu": {"guest": 5}}}}, ["laid-out", "seeing"], id="required vCPUs"
        ),
        pytest.param({"preference": {"requirements": {"memory": {"guest": "9Gi"}}}}, ["seeing"], id="required memory"),
        pytest.param(
            {"cpu_max": 4, "memory_max": "4Gi", "preference": {"cpu": {"preferredCPUTopology": "spread"}}},
            ["medium", "wide"],
            id="vCPUs that can be spread",
        ),
        pytest.param({"preference": {"requirements": {"architecture": "arm64"}}}, [], id="other architecture"),
        pytest.param(
            {"preference": {"requirements": {"architecture": "arm64"}}, "architecture": "arm64", "cpu_max": 1},
            ["small"],
            id="default architecture",
        ),
    ],
)
def test_sufficient_instancetypes_are_sorted_by_size(need: dict[str, Any], names: list[str]) -> None:
    fitting, missing = recommend(OFFERS, build_need(**need))
    assert [offer.name for offer in fitting] == names
    assert len(fitting) + len(missing) == len(OFFERS) - 2


@pytest.mark.parametrize(
    ("need", "nearest", "reasons"),
    [
        pytest.param({"cpu_min": 10}, "seeing", ["8 vCPUs, at least 10 required"], id="too few vCPUs"),
        pytest.param(
            {"cpu_max": 3, "memory_min": "3Gi", "memory_max": "3Gi"},
            "medium",
            ["4Gi of memory, at most 3Gi allowed"],
            id="too much memory",
        ),
        pytest.param(
            {"memory_min": "20Gi"}, "seeing", ["16Gi of memory, at least 20Gi required"], id="too little memory"
        ),
        pytest.param(
            {"cpu_min": 5, "cpu_max": 5}, "laid-out", ["6 vCPUs, at most 5 allowed"], id="nearest is too large"
        ),
        pytest.param(
            {"cpu_max": 1, "dedicated": True},
            "small",
            ["no dedicated CPUs, which are required"],
            id="not dedicated",
        ),
        pytest.param(
            {"dedicated": False, "hugepages": True, "cpu_max": 1},
            "small",
            ["no hugepages, which are required"],
            id="no hugepages",
        ),
        pytest.param({"gpus": 2}, "seeing", ["1 GPU, 2 required"], id="too few GPUs"),
        pytest.param({"gpus": 1, "cpu_max": 1}, "small", ["no GPU, 1 required"], id="no GPU"),
        pytest.param(
            {"preference": {"requirements": {"cpu": {"guest": 10}}}},
            "seeing",
            ["insufficient CPU resources of 8 vCPU provided by instance type, preference requires 10 vCPU"],
            id="requirement of a preference",
        ),
        pytest.param(
            {"preference": {"requirements": {"architecture": "arm64"}}},
            "small",
            ["preference requires architecture arm64 but amd64 is being requested"],
            id="other architecture",
        ),
    ],
)
def test_closest_mismatch_is_listed_first_with_reasons(need: dict[str, Any], nearest: str, reasons: list[str]) -> None:
    first = recommend(OFFERS, build_need(**need)).missing[0]
    assert (first.offer.name, first.reasons) == (nearest, reasons)


def test_instancetype_with_excluded_features_does_not_match() -> None:
    need = Need(dedicated=False, hugepages=False)
    (miss,) = recommend([build_offer("fast", 4, "8Gi", dedicated=True, hugepages={"pageSize": "2Mi"})], need).missing
    assert miss.reasons == ["dedicated CPUs, which are excluded", "hugepages, which are excluded"]


def test_cluster_instancetype_is_listed_before_a_namespaced_one() -> None:
    offers = [build_offer("same", 1, "1Gi", kind) for kind in ("VirtualMachineInstancetype", CLUSTER)]
    assert [offer.kind for offer in recommend(offers, Need()).fitting] == [CLUSTER, "VirtualMachineInstancetype"]


LIMITED = Offer(
    CLUSTER,
    "limited",
    build_instancetype_spec(
        cpu={"limits": {"min": 2, "max": 8, "step": 2}},
        memory={"limits": {"step": "1Gi", "perVCPU": {"min": "2Gi", "max": "4Gi"}}},
    ),
)


@pytest.mark.parametrize(
    ("offer", "need", "size"),
    [
        pytest.param(LIMITED, {}, (2, "4Gi"), id="smallest size"),
        pytest.param(LIMITED, {"cpu_min": 3, "memory_min": "9.5Gi"}, (4, "10Gi"), id="next step"),
        pytest.param(LIMITED, {"memory_min": "20Gi"}, (6, "20Gi"), id="more vCPUs for the memory"),
        pytest.param(
            LIMITED,
            {"preference": {"requirements": {"cpu": {"guest": 5}, "memory": {"guest": "1Gi"}}}},
            (6, "12Gi"),
            id="requirements",
        ),
        pytest.param(build_offer("open", None, None), {"cpu_min": 3, "memory_min": "5Gi"}, (3, "5Gi"), id="no limits"),
        pytest.param(build_offer("half", 2, None), {"memory_min": "5Gi"}, (2, "5Gi"), id="only memory has no size"),
    ],
)
def test_instancetype_without_a_size_is_offered_at_the_smallest_sufficient_size(
    offer: Offer, need: dict[str, Any], size: tuple[int, str]
) -> None:
    (chosen,), _ = recommend([offer], build_need(**need), with_custom=True)
    assert (chosen.vcpus, chosen.memory, chosen.is_custom) == (*size, True)


def test_instancetype_whose_limits_are_too_low_is_a_mismatch_with_reasons() -> None:
    fitting, (miss,) = recommend([LIMITED], build_need("40Gi", cpu_min=10), with_custom=True)
    assert fitting == []
    assert miss.reasons == ["8 vCPUs, at least 10 required", "32Gi of memory, at least 40Gi required"]


def test_instancetype_without_a_size_is_ignored_if_no_amount_is_requested() -> None:
    assert recommend([build_offer("open", None, None)], build_need(), with_custom=True) == ([], [])
    fixed = build_offer("small", 1, "2Gi")
    assert recommend([fixed], build_need(), with_custom=True).fitting == [fixed]


def test_instancetype_with_less_waste_precedes_one_with_fewer_vcpus() -> None:
    offers = [build_offer("wide", 4, "4Gi"), build_offer("deep", 2, "32Gi")]
    need = build_need("4Gi", cpu_min=2)
    assert [offer.name for offer in recommend(offers, need).fitting] == ["wide", "deep"]
    assert [find_waste(offer, need) for offer in offers] == [(Decimal("0.5"), 0), (0, Decimal("0.875"))]


def test_waste_is_measured_against_the_requirements_of_a_preference() -> None:
    need = build_need(preference={"requirements": {"cpu": {"guest": 3}, "memory": {"guest": "4Gi"}}})
    assert find_waste(build_offer("large", 4, "8Gi"), need) == (Decimal("0.25"), Decimal("0.5"))


def test_waste_is_unknown_without_a_requested_size() -> None:
    assert find_waste(build_offer("large", 4, "8Gi"), Need()) == (None, None)


@pytest.mark.parametrize(
    ("most", "reasons"),
    [
        (
            "0.49",
            ["50% of the vCPUs not needed, at most 49% allowed", "75% of the memory not needed, at most 49% allowed"],
        ),
        ("0.5", ["75% of the memory not needed, at most 50% allowed"]),
    ],
)
def test_instancetype_with_too_much_waste_does_not_fit(most: str, reasons: list[str]) -> None:
    offer, need = build_offer("large", 4, "8Gi"), build_need("2Gi", cpu_min=2, max_waste=Decimal(most))
    (miss,) = recommend([offer], need).missing
    assert miss.reasons == reasons


def test_instancetype_with_the_maximum_waste_fits() -> None:
    offer, need = build_offer("large", 4, "8Gi"), build_need("2Gi", cpu_min=2, max_waste=Decimal("0.75"))
    assert recommend([offer], need).fitting == [offer]


def test_recommendation_reason_states_the_needed_size_and_special_settings() -> None:
    settings: dict[str, Any] = {"gpus": [{"name": "g", "deviceName": "maker.com/gpu"}], "dedicated": True}
    offer = build_offer("fast", 4, "8Gi", hugepages={"pageSize": "2Mi"}, **settings)
    assert explain_fit(offer, build_need("2Gi", cpu_min=3)) == (
        "3 of 4 vCPUs needed; 2Gi of 8Gi needed; dedicated CPUs; hugepages 2Mi; 1 GPU"
    )
    shared = Offer(CLUSTER, "shared", build_instancetype_spec(memory={"guest": "8Gi", "overcommitPercent": 50}))
    assert explain_fit(shared, Need()) == "50% of the memory overcommitted"


@pytest.mark.parametrize(("share", "text"), [("0", "0%"), ("0.001", "1%"), ("0.375", "38%"), ("0.999", "100%")])
def test_waste_is_shown_as_rounded_whole_percentages(share: str, text: str) -> None:
    assert format_percent(Decimal(share)) == text
