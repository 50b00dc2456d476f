from decimal import Decimal

import pytest

from virtshape.admission.recommend import Need
from virtshape.admission.recommendneeds import Usage, check_usage, need_like, need_of_usage, override_need
from virtshape.api.fielderror import FieldError
from virtshape.api.quantity import Quantity
from virtshape.engine.cloudsizes import CloudSize

ZERO = 'invalid amount "0": must be greater than 0'


@pytest.mark.parametrize(
    ("usage", "problems"),
    [
        (Usage(cpu=Quantity("2.3"), memory=Quantity("6Gi")), []),
        (Usage(memory=Quantity("6Gi")), []),
        (Usage(cpu=Quantity("0"), memory=Quantity("0")), [FieldError("cpu", ZERO), FieldError("memory", ZERO)]),
        (Usage(), [FieldError("", "must set cpu or memory")]),
    ],
    ids=["both", "memory", "nothing used", "empty"],
)
def test_usage_needs_an_amount_greater_than_zero(usage: Usage, problems: list[FieldError]) -> None:
    assert list(check_usage(usage)) == problems


@pytest.mark.parametrize(
    ("usage", "need"),
    [
        (Usage(cpu=Quantity("2.3"), memory=Quantity("6Gi")), Need(cpu_min=3, memory_min=Quantity("7373Mi"))),
        (Usage(cpu=Quantity("500m")), Need(cpu_min=1)),
        (Usage(memory=Quantity("1Gi")), Need(memory_min=Quantity("1229Mi"))),
    ],
    ids=["both", "cpu", "memory"],
)
def test_need_of_usage_includes_the_headroom(usage: Usage, need: Need) -> None:
    assert need_of_usage(usage, Decimal("0.2")) == need


def test_values_of_a_need_are_replaced_by_those_that_are_set() -> None:
    like = need_like(CloudSize("aws:g5.xlarge", 4, Quantity("16Gi"), 1))
    assert like == Need(cpu_min=4, memory_min=Quantity("16Gi"), gpus=1)
    assert override_need(like, Need(cpu_min=2, dedicated=False)) == like._replace(cpu_min=2, dedicated=False)
