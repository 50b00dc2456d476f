"""Fuzz target: quantities such as `4Gi` and `1e3`."""

from contextlib import suppress

from tests.fuzz.target import Target

from virtshape.api.quantity import Quantity


def run(data: bytes) -> None:
    """Parse a quantity; its text is the same quantity, and a sum can be undone."""
    try:
        found = Quantity(data.decode(errors="surrogateescape"))
    except ValueError:
        return
    assert Quantity(str(found)).same_as(found)
    assert isinstance(found.value(), int)
    assert isinstance(found.milli_value(), int)
    assert found.minus(found).is_zero()
    with suppress(ArithmeticError):  # the exact sum may have too many digits
        assert found.plus(Quantity("1Gi")).minus(Quantity("1Gi")).same_as(found)


TARGET = Target(
    "quantity",
    run,
    (b"4Gi", b"1.5M", b"100m", b"-2e3", b"1E", b"+.5Ki", b"0", b"9223372036854775807", b"1n", b"12E-3"),
    (b"e", b"E", b"Ki", b"Ei", b"n", b"u", b"m", b".", b"-", b"+", b"0", b"9" * 20, b" ", "٣".encode()),
)
