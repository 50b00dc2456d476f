"""Parse unquoted YAML scalars as kubectl does: null, booleans, numbers and strings."""

import re
import struct
from binascii import Error as Base64Error
from binascii import a2b_base64
from math import isfinite

from virtshape.api.yaml.position import shorten

Scalar = None | bool | int | float | str

YAML_TAGS = "tag:yaml.org,2002:"

CONSTANTS: dict[str, Scalar] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], float("nan")),
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], float("inf")),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], float("-inf")),
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<dec>0|[1-9][0-9]*)|0[xX](?P<hex>[0-9a-fA-F]+)|0[oO]?(?P<oct>[0-7]+)|0[bB](?P<bin>[01]+))"
)
_BASES = {"dec": 10, "hex": 16, "oct": 8, "bin": 2}
_FLOAT = re.compile(r"[+-]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?")
_POINTED = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][+-]?[0-9]+)?")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}\S*)?")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")

_MIN_INT64, _MAX_INT64, _MAX_UINT64 = -(2**63), 2**63 - 1, 2**64 - 1
# Numeric keys with a power of ten in this range are written without an exponent.
_MIN_FIXED_POWER, _MIN_EXPONENT_POWER = -4, 6
_MIN_EXPONENT_IN_JSON = 1e21  # kubectl writes this value and larger ones with an exponent, such as 1e+21


def read_plain(word: str) -> Scalar:
    """Parse an unquoted scalar; a float stays a float, even if it is integral or infinite."""
    if word in CONSTANTS:
        return CONSTANTS[word]
    return _read_number(word) if word[0] in _NUMBER_STARTS else word


def read_tagged(tag: str, text: str) -> Scalar:
    """Parse a scalar with a tag, such as `!!int "5"`; raise ValueError if it does not have that type."""
    name = tag.removeprefix(YAML_TAGS) if tag.startswith(YAML_TAGS) else ""
    value = read_plain(text)
    match name, value:
        case "binary", _:
            return _read_base64(text)
        case ("null", None) | ("bool", bool()) | ("float", float()):
            return value
        case "int" | "float", int() if not isinstance(value, bool):
            return value
        case "timestamp", str() if _TIMESTAMP.fullmatch(text):
            return text
        case (("null" | "bool" | "int" | "float" | "timestamp"), _):
            raise ValueError(f'"{shorten(text)}" is not of the type !!{name}')
        case _:  # kubectl ignores unknown tags
            return text


def as_value(scalar: Scalar) -> Scalar:
    """Convert a scalar to a JSON value: an integral float becomes an integer; raise ValueError for infinity and NaN."""
    if not isinstance(scalar, float):
        return scalar
    if not isfinite(scalar):
        raise ValueError("infinity and NaN cannot be used: JSON has no such numbers")
    if scalar != int(scalar) or abs(scalar) >= _MIN_EXPONENT_IN_JSON:
        return scalar
    digits, _, exponent = repr(scalar).partition("e+")
    integer, _, fraction = digits.partition(".")
    if not exponent:
        return int(integer)
    fraction = fraction.rstrip("0")
    return int(integer + fraction + "0" * (int(exponent) - len(fraction)))


def as_key(scalar: object) -> str:
    """Return the text of a scalar that is a key; raise ValueError if kubectl rejects such a key."""
    match scalar:
        case str():
            return scalar
        case bool():
            return "true" if scalar else "false"
        case int() if scalar <= _MAX_INT64:
            return str(scalar)
        case float():
            return _format_single_float(scalar)
        case None:
            raise ValueError("null cannot be a key; put it in quotes")
        case int():
            raise ValueError(f"the number {scalar} is too large for a key; put it in quotes")
        case _:
            raise ValueError("a list or an object cannot be a key")


def is_ambiguous(text: str) -> bool:
    """Return True if a YAML parser may read the unquoted text as something other than a string."""
    return (
        text == "<<"
        or not isinstance(read_plain(text), str)
        or _TIMESTAMP.fullmatch(text) is not None
        or _BASE_60.fullmatch(text) is not None
    )


def _read_number(word: str) -> Scalar:
    if word[0] == ".":
        return float(word) if _POINTED.fullmatch(word) else word
    plain = word.replace("_", "")
    integer = _INTEGER.fullmatch(plain)
    if integer:
        base = integer.lastgroup or "dec"
        number = int(integer["sign"] + integer[base], _BASES[base])
        if _MIN_INT64 <= number <= (_MAX_INT64 if integer["sign"] else _MAX_UINT64):
            return number
    if _FLOAT.fullmatch(plain) and isfinite(float(plain)):
        return float(plain)
    return word


def _read_base64(text: str) -> str:
    try:
        data = a2b_base64(text.replace("\n", "").replace("\r", ""), strict_mode=True)
    except Base64Error:
        raise ValueError("a !!binary value must be base64") from None
    return data.decode(errors="replace")


def _format_single_float(number: float) -> str:
    """Format the number with the fewest digits that identify it as a 32-bit float, as kubectl does for keys."""
    try:
        single = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        single = float("inf") if number > 0 else float("-inf")
    if not isfinite(single):
        return ".nan" if single != single else ".inf" if single > 0 else "-.inf"
    for precision in range(1, 10):
        text = f"{single:.{precision - 1}e}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == single:
            break
    digits, _, exponent = text.partition("e")
    power = int(exponent)
    if not _MIN_FIXED_POWER <= power < _MIN_EXPONENT_POWER:
        return text
    return f"{float(text):.{max(0, len(digits.partition('.')[2]) - power)}f}"
