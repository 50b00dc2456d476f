"""Parse flag values of the form `key:value,key:value` into dataclasses, and report all problems at once."""

import re
from collections.abc import Callable
from dataclasses import Field, field, fields
from typing import TYPE_CHECKING, Any, Self, TypeVar

from virtshape.api.quantity import Quantity
from virtshape.cli.errors import suggest

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    P = TypeVar("P", bound=DataclassInstance)
else:
    P = TypeVar("P")


class ParameterError(ValueError):
    """The value of a flag is invalid: one message per problem."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Label(str):
    """A valid volume name."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        """Check that the name is a DNS label."""
        if len(text) > 63 or not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", text):
            raise ParameterError(
                f'invalid volume name "{text}": must be up to 63 lower case letters, digits and dashes, '
                "with a letter or digit at both ends"
            )
        return super().__new__(cls, text)


def required() -> Any:
    """Return the dataclass field of a parameter that must be given and must not be empty."""
    return field(default=None, metadata={"required": True})


def parse_parameters(text: str, kind: type[P]) -> P:
    """Parse the text into a dataclass, whose fields are the valid keys."""
    pairs = _split(text)
    known = {parameter.name: parameter for parameter in fields(kind)}
    missing = [key for key, parameter in known.items() if parameter.metadata.get("required") and not pairs.get(key)]
    problems: list[str] = []
    values: dict[str, Any] = {}
    for key, value in pairs.items():
        if key in missing:
            continue
        if key not in known:
            hint = suggest(key, known) or f"; must be one of {', '.join(known)}"
            problems.append(f'unknown parameter "{key}"{hint}')
            continue
        try:
            values[key] = _read(value, known[key])
        except ValueError as error:
            problems.append(f"{key}: {error}")
    problems += [f"{key} is required" for key in missing]
    if problems:
        raise ParameterError(*problems)
    return kind(**values)


def find_parameter(text: str, key: str) -> str | None:
    """Return the value of one key, or None if it is absent."""
    return _split(text).get(key)


def split_name(text: str) -> tuple[str, str]:
    """Split `prefix/name`; the prefix may be missing and is then empty."""
    prefix, _, name = text.rpartition("/")
    if "/" in prefix:
        raise ParameterError(f'"{text}" has more than one slash')
    if not name:
        raise ParameterError(f'"{text}" has no name' if text else "the name is empty")
    return prefix, name


def read_quantity(text: str) -> Quantity:
    """Parse a quantity such as `4Gi`."""
    if text != text.strip():  # spaces are valid in API objects but not in flags
        raise ParameterError(f'invalid quantity "{text}": must not begin or end with spaces')
    try:
        return Quantity(text)
    except ValueError as error:
        raise ParameterError(str(error)) from None


def _split(text: str) -> dict[str, str]:
    if not text:
        raise ParameterError("the value is empty; write key:value,key:value")
    parts = text.split(",")
    invalid = [part for part in parts if ":" not in part]
    if invalid:
        raise ParameterError(*(f'"{part}" has no colon; write key:value,key:value' for part in invalid))
    pairs = (part.partition(":") for part in parts)
    return {key: value for key, _, value in pairs}


def _read(value: str, parameter: "Field[Any]") -> Any:
    if parameter.type == str | None:
        return value or None
    return next(reader(value) for kind, reader in _READERS.items() if parameter.type in (kind, kind | None))


def _read_number(value: str) -> int:
    if not re.fullmatch(r"[0-9]+", value, re.ASCII) or int(value) >= 2**32:
        raise ValueError(f'invalid number "{value}": must be an integer')
    return int(value)


def _read_list(value: str) -> list[str]:
    return value.split(";")


_READERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    int: _read_number,
    Label: Label,
    Quantity: read_quantity,
    list[str]: _read_list,
}
