from decimal import Decimal

import pytest

from virtshape.api.quantity import Quantity
from virtshape.engine.waste import Needed, Waste, measure_waste, size_for_usage


@pytest.mark.parametrize(
    ("needed", "waste"),
    [
        (Needed(4, Quantity("8Gi")), Waste(Decimal(0), Decimal("0.5"))),
        (Needed(1, Quantity("16384Mi")), Waste(Decimal("0.75"), Decimal(0))),
        (Needed(8, Quantity("32Gi")), Waste(Decimal(0), Decimal(0))),
        (Needed(0, Quantity("4Gi")), Waste(None, Decimal("0.75"))),
        (Needed(0, Quantity("0")), Waste(None, None)),
        (Needed(0, Quantity("1e10000001")), Waste(None, Decimal(0))),
    ],
    ids=["memory", "vCPUs", "too small", "any vCPUs", "any size", "beyond the range of decimals"],
)
def test_waste_is_the_share_of_a_size_that_is_not_needed(needed: Needed, waste: Waste) -> None:
    assert measure_waste(4, Quantity("16Gi"), needed) == waste


def test_total_waste_is_the_sum_of_the_known_waste_of_cpu_and_memory() -> None:
    assert Waste(Decimal("0.25"), Decimal("0.5")).total == Decimal("0.75")
    assert Waste(None, Decimal("0.5")).total == Decimal("0.5")


@pytest.mark.parametrize(
    ("cpu", "memory", "headroom", "needed"),
    [
        ("2.3", "6Gi", "0.2", (3, "7373Mi")),
        ("2300m", "6Gi", "0", (3, "6Gi")),
        ("2", "1Gi", "0", (2, "1Gi")),
        ("0.1", "100M", "0.5", (1, "144Mi")),
        (None, "1Gi", "1", (0, "2Gi")),
        ("1.5", None, "1", (3, "0")),
        ("1e10000001", None, "0", (2**63 - 1, "0")),
    ],
)
def test_needed_size_is_the_usage_with_headroom_rounded_up(
    cpu: str | None, memory: str | None, headroom: str, needed: tuple[int, str]
) -> None:
    used, resident = (Quantity(text) if text else None for text in (cpu, memory))
    assert size_for_usage(used, resident, Decimal(headroom)) == needed
