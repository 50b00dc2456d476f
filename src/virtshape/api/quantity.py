"""
Kubernetes quantities: `4Gi`, `250m`, `1e3`.

A `Quantity` is its canonical text, so `==` and sorting compare text: `2048` and `2Ki` differ. To compare numbers, use
`amount` or `same_as`. No computation uses binary floats. The amounts of short quantities are cached.
"""

import re
import reprlib
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal, Inexact, InvalidOperation
from functools import lru_cache
from typing import Any, Literal, NamedTuple, final

Format = Literal["BinarySI", "DecimalSI", "DecimalExponent"]

_POWERS_OF_TEN = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_POWERS_OF_1024 = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _POWERS_OF_TEN.items()}
_BINARY_SUFFIXES = ["", *_POWERS_OF_1024]

_MAX = Decimal(2**63 - 1)
_MIN = Decimal(1 - 2**63)
_NANO_PLACES = 9

# White space that JSON strings may contain unescaped. Tabs and newlines need an escape, which no quantity has.
_SPACES = (
    " \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

# Matches the most common quantities in canonical form, so that their numbers need not be parsed.
_is_plainly_canonical = re.compile(
    r"[1-9][0-9]{0,2}[KMGTP]i|[1-9][0-9]{0,14}(?<!000)[numkMGTPE]?|0",
).fullmatch

_split = re.compile(
    r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?0*[0-9]{1,9})?",
).fullmatch

# Limits that keep parsing and addition cheap for any input.
_MAX_TEXT_LENGTH = 500
_MAX_CACHED_LENGTH = 16
_MAX_CACHED = 1024
_EXACT = Context(prec=4000, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact, InvalidOperation])


@final
class Quantity(str):
    """
    A quantity, kept as its canonical text.

    The format is that of the original text, even if the canonical text does not show it: `3.3Gi` becomes
    `3543348019200m` and keeps the format BinarySI.
    """

    __slots__ = ("_hidden_format",)
    _hidden_format: Format

    def __new__(cls, value: str | float) -> "Quantity":
        """Parse a string or a JSON number; raise ValueError if it is not a quantity, TypeError for other types."""
        if type(value) is str:
            if _is_plainly_canonical(value):
                return str.__new__(cls, value)
            return cls._parse(value, value)
        if isinstance(value, Quantity):
            return value
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TypeError(_refusal(value))
        return cls._parse(_write_number(value) if isinstance(value, float) else f"{value}", value)

    @property
    def amount(self) -> Decimal:
        """The exact number. Comparisons are exact; arithmetic rounds according to the current decimal context."""
        return _compute_amount(self) if len(self) <= _MAX_CACHED_LENGTH else _read(self, self).amount

    @property
    def bounded_amount(self) -> Decimal:
        """The exact number, clamped to 64 bits, so that arithmetic with it does not overflow."""
        return _clamp(self.amount)

    @property
    def format(self) -> Format:  # type: ignore[override]  # the API's name; str.format is not used on quantities
        """The format of this quantity and of results computed from it."""
        return getattr(self, "_hidden_format", None) or _shown_format(self)

    def value(self) -> int:
        """Return the amount as an integer, rounded away from zero and clamped to 64 bits."""
        return _to_int64(self.amount, places=0)

    def milli_value(self) -> int:
        """Return the amount in thousandths, rounded away from zero and clamped to 64 bits."""
        return _to_int64(self.amount, places=3)

    def is_zero(self) -> bool:
        """Return True if the amount is zero; zero is always formatted as `0`."""
        return self == "0"

    def same_as(self, other: "Quantity") -> bool:
        """Return True if both quantities have the same amount."""
        return self == other or self.amount == other.amount

    def plus(self, other: "Quantity") -> "Quantity":
        """
        Return the exact sum in the format of this quantity, or in the format of `other` if this quantity is 0.

        Raise ArithmeticError if the sum has too many digits.
        """
        return self._of_amount(_EXACT.add(self.amount, other.amount), other.format if self.is_zero() else self.format)

    def minus(self, other: "Quantity") -> "Quantity":
        """Return the exact difference, in the format that the sum would have."""
        total = _EXACT.subtract(self.amount, other.amount)
        return self._of_amount(total, other.format if self.is_zero() else self.format)

    @classmethod
    def of(cls, amount: int, format: Format) -> "Quantity":  # noqa: A002 - the API's word
        """Return the quantity with this integer amount and this format."""
        return cls._of_amount(Decimal(amount), format)

    @classmethod
    def _parse(cls, text: str, origin: object) -> "Quantity":
        text = text.strip(_SPACES)
        if len(text) > _MAX_TEXT_LENGTH:
            raise ValueError(_refusal(origin))
        reading = _read(text, origin)
        if reading.stays_as_written:
            return str.__new__(cls, text)
        amount = _scale(_round_up(reading.amount, _NANO_PLACES), -_NANO_PLACES)
        if reading.format != "BinarySI":
            return cls._of_amount(amount, reading.format)
        return cls._of_amount(_clamp(amount), "DecimalSI" if 0 < amount.copy_abs() < 1 else "BinarySI")

    @classmethod
    def _of_amount(cls, amount: Decimal, format_: Format) -> "Quantity":
        return cls._of_text(_write(amount, format_), format_)

    @classmethod
    def _of_text(cls, text: str, format_: Format) -> "Quantity":
        self = str.__new__(cls, text)
        if format_ != _shown_format(text):
            self._hidden_format = format_
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Quantity._of_text, (str(self), self.format)

    def __copy__(self) -> "Quantity":
        return self

    def __deepcopy__(self, memo: object) -> "Quantity":
        return self


class _Reading(NamedTuple):
    """A parsed quantity; `power` is a power of 1024 for BinarySI, otherwise a power of ten."""

    sign: str
    integer: str
    fraction: str
    format: Format
    power: int

    @property
    def amount(self) -> Decimal:
        number = Decimal(f"{self.sign}{self.integer}.{self.fraction}")
        if self.format == "BinarySI":
            return _EXACT.multiply(number, 1024**self.power)
        return _scale(number, self.power)

    @property
    def stays_as_written(self) -> bool:
        """Return True if Kubernetes' fast path preserves the text, as it does for `+1Gi` and `1.125G`."""
        if self.format == "BinarySI":
            return not self.fraction and len(self.integer) <= 14 - 3 * self.power and int(self.integer) % 8 != 0
        digits, power = self.integer + self.fraction, self.power - len(self.fraction)
        is_short = len(digits) <= 18 and power >= -_NANO_PLACES
        return is_short and power % 3 == 0 and not digits.startswith("0") and not digits.endswith("000")


@lru_cache(maxsize=_MAX_CACHED)
def _compute_amount(text: str) -> Decimal:
    return _read(text, text).amount


def _read(text: str, origin: object) -> _Reading:
    parts = _split(text)
    if not parts:
        raise ValueError(_refusal(origin))
    sign, integer, fraction, suffix = parts.groups("")
    format_ = _shown_format(text)
    if format_ == "BinarySI":
        power = _POWERS_OF_1024[suffix]
    elif format_ == "DecimalSI":
        power = _POWERS_OF_TEN[suffix]
    else:
        power = int(suffix[1:])
    return _Reading(sign, integer.lstrip("0") or "0", fraction, format_, power)


def _shown_format(text: str) -> Format:
    if text[-1:] == "i":
        return "BinarySI"
    return "DecimalExponent" if "e" in text or "E" in text[:-1] else "DecimalSI"


def _write(amount: Decimal, format_: Format) -> str:
    """Return the canonical text: an integer with the largest suffix that needs no fraction."""
    if not amount:
        return "0"
    if format_ == "BinarySI" and amount.copy_abs() >= 1024 and amount == _round_up(amount, 0):
        number, power = int(amount), 0
        while number % 1024 == 0 and power < _POWERS_OF_1024["Ei"]:
            number, power = number // 1024, power + 1
        return f"{number}{_BINARY_SUFFIXES[power]}"
    shortest = amount.normalize(_EXACT)
    exponent = int(shortest.as_tuple().exponent)
    exponent -= exponent % 3
    if format_ == "DecimalExponent":
        return f"{_scale(shortest, -exponent):f}" + (f"e{exponent}" if exponent else "")
    exponent = min(exponent, _POWERS_OF_TEN["E"])
    return f"{_scale(shortest, -exponent):f}{_DECIMAL_SUFFIXES[exponent]}"


def _write_number(number: float) -> str:
    """Format a float as Go's JSON encoder does: with an exponent only if it is very large or very small."""
    shortest = Decimal(repr(number)).normalize(_EXACT)
    return f"{shortest:f}" if number == 0 or 1e-6 <= abs(number) < 1e21 else f"{shortest:e}"


def _scale(amount: Decimal, power: int) -> Decimal:
    return _EXACT.scaleb(amount, power)


def _round_up(amount: Decimal, places: int) -> Decimal:
    """Return the number of units of 10^-places, rounded away from zero."""
    return _scale(amount, places).to_integral_value(ROUND_UP)


def _clamp(amount: Decimal) -> Decimal:
    return max(_MIN, min(_MAX, amount))


def _to_int64(amount: Decimal, places: int) -> int:
    return int(_clamp(_round_up(amount, places)))


def _refusal(value: object) -> str:
    return (
        f"expected a quantity such as 4Gi, got {reprlib.repr(value)}: a quantity is a number, optionally followed by "
        "an exponent such as e3, or one of n u m k M G T P E Ki Mi Gi Ti Pi Ei"
    )
