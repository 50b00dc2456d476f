"""
The grammar of flags with parameters: `key:value,key:value`, read into a small dataclass.

Knows no flag. All that is wrong with a text is found at once.
"""

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
    """What cannot be done with the value of a flag: one sentence per problem."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Label(str):
    """A name that a volume can have."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        """Refuse what Kubernetes would refuse."""
        if len(text) > 63 or not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", text):
            raise ParameterError(
                f'"{text}" cannot name a volume: up to 63 small letters, digits and dashes, '
                "with a letter or digit at both ends"
            )
        return super().__new__(cls, text)


def needed() -> Any:
    """Mark a parameter that has to be given and not be empty."""
    return field(default=None, metadata={"needed": True})


def parse_parameters(text: str, kind: type[P]) -> P:
    """Read the text into the dataclass whose fields are the known keys."""
    pairs = _split(text)
    known = {parameter.name: parameter for parameter in fields(kind)}
    missing = [key for key, parameter in known.items() if parameter.metadata.get("needed") and not pairs.get(key)]
    problems: list[str] = []
    values: dict[str, Any] = {}
    for key, value in pairs.items():
        if key in missing:
            continue
        if key not in known:
            hint = suggest(key, known) or f"; known are {', '.join(known)}"
            problems.append(f'unknown parameter "{key}"{hint}')
            continue
        try:
            values[key] = _read(value, known[key])
        except ValueError as error:
            problems.append(f"{key}: {error}")
    problems += [f"{key} must be given" for key in missing]
    if problems:
        raise ParameterError(*problems)
    return kind(**values)


def find_parameter(text: str, key: str) -> str | None:
    """Find one value, for a flag where it decides which other keys are known."""
    return _split(text).get(key)


def split_name(text: str) -> tuple[str, str]:
    """Split `prefix/name` in two; the prefix may be left out and is then empty."""
    prefix, _, name = text.rpartition("/")
    if "/" in prefix:
        raise ParameterError(f'"{text}" has more than one slash')
    if not name:
        raise ParameterError(f'"{text}" has no name' if text else "the name is empty")
    return prefix, name


def read_quantity(text: str) -> Quantity:
    """Read an amount such as `4Gi`."""
    if text != text.strip():  # an API object may pad it, a flag may not
        raise ParameterError(f'"{text}" has spaces around it')
    try:
        return Quantity(text)
    except ValueError as error:
        raise ParameterError(str(error)) from None


def _split(text: str) -> dict[str, str]:
    if not text:
        raise ParameterError("the value is empty; write key:value,key:value")
    words = text.split(",")
    strays = [word for word in words if ":" not in word]
    if strays:
        raise ParameterError(*(f'"{word}" has no colon; write key:value,key:value' for word in strays))
    pairs = (word.partition(":") for word in words)
    return {key: value for key, _, value in pairs}


def _read(value: str, parameter: "Field[Any]") -> Any:
    if parameter.type == str | None:
        return value or None
    return next(reader(value) for kind, reader in _READERS.items() if parameter.type in (kind, kind | None))


def _read_number(value: str) -> int:
    if not re.fullmatch(r"[0-9]+", value, re.ASCII) or int(value) >= 2**32:
        raise ValueError(f'"{value}" is not a whole number')
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
