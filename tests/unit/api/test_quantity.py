"""
Quantities compared with results recorded from k8s.io/apimachinery v0.37.2, and property-based tests.

`quantities.json` has, for each text, the result of json.Unmarshal and json.Marshal in Go. `value` and `milliValue`
are present only if they fit into 64 bits, because larger values overflow in Go.
"""

import copy
import json
import pickle
import re
from collections.abc import Callable
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtshape.api.quantity import Format, Quantity

RECORDED: dict[str, list[Any]] = json.loads(Path(__file__).with_name("quantities.json").read_text())
FORMATS: tuple[Format, ...] = get_args(Format)
EXACT = Context(prec=2000)


def shape(quantity: Quantity) -> tuple[str, Format]:
    return str(quantity), quantity.format


@pytest.mark.parametrize("case", RECORDED["read"], ids=lambda case: case["written"])
def test_quantity_is_parsed_as_in_kubernetes(case: dict[str, Any]) -> None:
    quantity = Quantity(case["written"])

    assert shape(quantity) == (case["text"], case["format"])
    assert quantity.value() == case.get("value", quantity.value())
    assert quantity.milli_value() == case.get("milliValue", quantity.milli_value())
    assert quantity.is_zero() == (case["text"] == "0")


@pytest.mark.parametrize("text", RECORDED["refused"], ids=ascii)
def test_quantity_that_kubernetes_rejects_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=f"^expected a quantity such as 4Gi, got {re.escape(repr(text))}: "):
        Quantity(text)


@pytest.mark.parametrize("case", RECORDED["sums"], ids=lambda case: f"{case['left']} and {case['right']}")
def test_quantity_arithmetic_and_order_match_kubernetes(case: dict[str, Any]) -> None:
    left, right = Quantity(case["left"]), Quantity(case["right"])

    assert left.plus(right) == case["sum"]
    assert left.minus(right) == case["difference"]
    assert (left.amount > right.amount) - (left.amount < right.amount) == case["order"]
    assert left.same_as(right) == (case["order"] == 0)


@pytest.mark.parametrize("case", RECORDED["whole"], ids=lambda case: f"{case['amount']} {case['format']}")
def test_integer_quantity_is_formatted_as_in_kubernetes(case: dict[str, Any]) -> None:
    assert shape(Quantity.of(case["amount"], case["format"])) == (case["text"], case["format"])


@pytest.mark.parametrize(
    ("number", "text", "format_"),
    [
        (0, "0", "DecimalSI"),
        (1024, "1024", "DecimalSI"),
        (4000, "4k", "DecimalSI"),
        (-5, "-5", "DecimalSI"),
        (2**70, "1180591620717411303424", "DecimalSI"),
        (1.5, "1500m", "DecimalSI"),
        (1000.0, "1k", "DecimalSI"),
        (-0.0, "0", "DecimalSI"),
        (1e-6, "1u", "DecimalSI"),
        (1e20, "100E", "DecimalSI"),
        (1e21, "1e+21", "DecimalExponent"),
        (1e-7, "100e-9", "DecimalExponent"),
    ],
)
def test_quantity_from_a_json_number_is_formatted_as_in_go(number: float, text: str, format_: Format) -> None:
    assert shape(Quantity(number)) == (text, format_)


@pytest.mark.parametrize("value", [None, True, False, [], ["1Gi"], {"a": 1}, b"1Gi"], ids=repr)
def test_quantity_must_be_a_string_or_number(value: Any) -> None:
    with pytest.raises(TypeError, match=f"^expected a quantity such as 4Gi, got {re.escape(repr(value))}: "):
        Quantity(value)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinity_are_not_quantities(number: float) -> None:
    with pytest.raises(ValueError, match=r"^expected a quantity such as 4Gi, got "):
        Quantity(number)


@pytest.mark.parametrize("text", ["Gi", "m", "e3", "+", "-", ".", "-.k"])
def test_quantity_suffix_without_a_number_is_rejected_unlike_in_go(text: str) -> None:
    with pytest.raises(ValueError, match="expected a quantity"):
        Quantity(text)


@pytest.mark.parametrize("text", ["1e1000000000", "1e-2147483648", "1e4294967296", "1" * 501])
def test_oversized_quantity_is_rejected_where_go_overflows_or_hangs(text: str) -> None:
    with pytest.raises(ValueError, match="expected a quantity"):
        Quantity(text)


@pytest.mark.parametrize(
    ("written", "text"),
    [("1000E", "1000E"), ("5000000P", "5000E"), ("1500000E", "1500000E")],
)
def test_quantity_beyond_the_largest_suffix_is_preserved_unlike_in_go(written: str, text: str) -> None:
    assert Quantity(written) == text


@pytest.mark.parametrize(
    ("text", "value", "milli_value"),
    [
        ("8Ei", 2**63 - 1, 2**63 - 1),
        ("10E", 2**63 - 1, 2**63 - 1),
        ("-10E", 1 - 2**63, 1 - 2**63),
        ("10P", 10**16, 2**63 - 1),
        ("-768Ti", -768 * 1024**4, -768 * 1024**4 * 1000),
        ("1e999999999", 2**63 - 1, 2**63 - 1),
        ("1e-999999999", 1, 1),
    ],
)
def test_quantity_values_are_clamped_to_64_bits_where_go_overflows(text: str, value: int, milli_value: int) -> None:
    quantity = Quantity(text)

    assert (quantity.value(), quantity.milli_value()) == (value, milli_value)


def test_inexact_quantity_addition_raises() -> None:
    with pytest.raises(ArithmeticError):
        Quantity("1").plus(Quantity("1e999999"))


def test_quantity_equality_compares_texts_and_same_as_compares_amounts() -> None:
    assert Quantity("2Ki") == "2Ki"
    assert hash(Quantity("2Ki")) == hash("2Ki")
    assert Quantity("2Ki") != Quantity("2048")
    assert Quantity("2Ki").same_as(Quantity("2048"))
    assert not Quantity("2Ki").same_as(Quantity("2k"))


@pytest.mark.parametrize(
    "quantity",
    [Quantity("4Gi"), Quantity("3.3Gi"), Quantity("1e1"), Quantity.of(912000000, "BinarySI")],
    ids=str,
)
@pytest.mark.parametrize(
    "duplicate",
    [Quantity, copy.copy, copy.deepcopy, lambda quantity: pickle.loads(pickle.dumps(quantity))],  # noqa: S301 - our own bytes
    ids=["again", "copy", "deepcopy", "pickle"],
)
def test_copied_quantity_has_the_same_text_and_format(
    duplicate: Callable[[Quantity], Quantity], quantity: Quantity
) -> None:
    assert isinstance(duplicate(quantity), Quantity)
    assert shape(duplicate(quantity)) == shape(quantity)


SUFFIXES = ["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-6", "e+2", "e-12"]
numbers = st.from_regex(r"[+-]?([0-9]{1,12}(\.[0-9]{0,8})?|\.[0-9]{1,12})", fullmatch=True, alphabet="+-.0123456789")
quantities = st.builds(lambda number, suffix: Quantity(number + suffix), numbers, st.sampled_from(SUFFIXES))


@given(quantities)
def test_formatted_quantity_parses_to_the_same_amount(quantity: Quantity) -> None:
    assert Quantity(str(quantity)).same_as(quantity)


@given(quantities)
def test_canonical_quantity_text_is_stable(quantity: Quantity) -> None:
    # Parse twice: as in Kubernetes, 1953.125Ki is formatted as 2000000, and only a decimal 2000000 is formatted as 2M.
    canonical = Quantity(str(quantity))

    assert shape(Quantity(str(canonical))) == shape(canonical)


@given(st.integers(-(10**17), 10**17), st.sampled_from(["", "k", "m", "n", "e3", "e-9"]))
def test_quantity_within_nano_units_is_preserved(number: int, suffix: str) -> None:
    power = {"": 0, "k": 3, "m": -3, "n": -9, "e3": 3, "e-9": -9}[suffix]

    assert Quantity(f"{number}{suffix}").amount == Decimal(number).scaleb(power, EXACT)


@given(st.integers(1 - 2**63, 2**63 - 1), st.sampled_from(FORMATS))
def test_integer_quantity_keeps_its_value_in_every_format(number: int, format_: Format) -> None:
    assert Quantity.of(number, format_).value() == number


@given(quantities, quantities)
def test_quantity_addition_is_exact_and_reverted_by_subtraction(left: Quantity, right: Quantity) -> None:
    total = left.plus(right)

    assert total.amount == EXACT.add(left.amount, right.amount)
    assert total.minus(right).amount == left.amount


@given(quantities)
def test_quantity_values_round_away_from_zero_by_less_than_one(quantity: Quantity) -> None:
    value, amount = quantity.value(), quantity.amount

    assert abs(amount) >= 2**63 - 1 or abs(amount) <= abs(value) < EXACT.add(abs(amount), Decimal(1))
