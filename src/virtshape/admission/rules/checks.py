"""Checks shared by many rules: unique and matching names, mutually exclusive members, values, paths, serial numbers."""

import re
from collections.abc import Collection, Generator, Iterable, Iterator
from operator import attrgetter
from posixpath import normpath
from typing import Any, Final, Protocol

from msgspec.structs import fields

from virtshape.api.fielderror import FieldError
from virtshape.api.model import Model
from virtshape.api.spelling import quote, suggest

NOT_SUPPORTED: Final = "FieldValueNotSupported"
DUPLICATE: Final = "FieldValueDuplicate"
MAX_SERIAL_LENGTH: Final = 256
_SERIAL: Final = re.compile(r"[A-Za-z0-9_.+-]{1,256}")


class Named(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str:
        """The name of the object."""


class Members:
    """Optional members of a struct, such as alternatives; `names` are their JSON names."""

    def __init__(self, attributes: Iterable[str], names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._read = attrgetter(*attributes)

    def count_present(self, item: object) -> int:
        """Return the number of members that are set."""
        return len(self.names) - self._read(item).count(None)

    def list_present(self, item: object) -> list[str]:
        """Return the JSON names of the members that are set."""
        return [name for name, _ in self.list_values(item)]

    def list_values(self, item: object) -> list[tuple[str, Any]]:
        """Return the JSON names and values of the members that are set."""
        return [pair for pair in zip(self.names, self._read(item), strict=True) if pair[1] is not None]


def list_members(struct: type[Model], *wanted: str) -> Members:
    """Return the members of the struct with these attribute names, or by default all members except `name`."""
    found = [each for each in fields(struct) if each.name in wanted or (not wanted and each.name != "name")]
    return Members([each.name for each in found], [each.encode_name for each in found])


def check_names(what: str, items: Collection[Named], at: str) -> Generator[FieldError, None, set[str]]:
    """Yield an error for each duplicate name; return all names."""
    names = {item.name for item in items}
    if len(names) == len(items):
        return names
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        if item.name in seen:
            reason = f"two {what}s are named {quote(item.name)}: rename or remove one"
            message = f"{_describe_duplicate(what, item.name, f'{at}[{index}] and {at}[{seen[item.name]}]')}: {reason}"
            yield FieldError(f"{at}[{index}].name", message, rule="duplicate-name")
        seen.setdefault(item.name, index)
    return names


def _describe_duplicate(what: str, name: str, places: str) -> str:
    match what:
        case "network":
            return f"Network with name {quote(name)} already exists, every network must have a unique name"
        case "interface":
            return "Only one interface can be connected to one specific network"
        case _:
            return f"{places} must not have the same Name"


def check_partners(
    what: str, items: Iterable[Named], at: str, partner: str, known: Collection[str]
) -> Iterator[FieldError]:
    """Yield an error for each item without a partner of the same name, such as a disk without a volume."""
    for index, item in enumerate(items):
        if item.name not in known:
            hint = suggest(item.name, known) or f": add one, or remove the {what}"
            reason = f"the {what} {quote(item.name)} has no {partner} of that name{hint}"
            called = "Name" if what == "disk" else "name"  # spelled as in KubeVirt's message
            message = f"{at}[{index}].{called} '{item.name}' not found: {reason}"
            yield FieldError(f"{at}[{index}].name", message, rule=f"missing-{partner}")


def check_one_of(what: str, item: Named, members: Members, at: str, *, least: int) -> Iterator[FieldError]:
    """Yield an error if the item has several of these members, or none of them although `least` is 1."""
    if least <= members.count_present(item) <= 1:
        return
    present = members.list_present(item)
    if len(present) > 1:
        reason = f"the {what} {quote(item.name)} has {' and '.join(present)}: keep one of them"
        yield FieldError(
            f"{at}.{present[1]}", f"{_describe_one_of(what, item.name, present, at)}: {reason}", rule="one-of"
        )
    else:
        such_as = f"{', '.join(members.names[:2])} or {members.names[2]}"
        reason = f"the {what} {quote(item.name)} has no source: add one, such as {such_as}"
        yield FieldError(at, f"{_describe_one_of(what, item.name, present, at)}: {reason}", rule="one-of")


def _describe_one_of(what: str, name: str, present: list[str], at: str) -> str:
    match what:
        case "network":
            return "should have only one network type" if present else "should have a network type"
        case "disk":
            return f"{at} can only have a single target type defined"
        case "interface" if "binding" in present:
            return f"logical {name} interface cannot have both binding plugin and interface binding method"
        case "interface":
            return f"{at} can only have a single type defined"
        case _:
            return f"{at} must have exactly one source type set"


def check_value(at: str, name: str, value: str | None, allowed: tuple[str, ...]) -> Iterable[FieldError]:
    """Return an error if the value is not allowed; an empty value counts as unset."""
    if not value or value in allowed:
        return ()
    return (FieldError(f"{at}.{name}", describe_unsupported(value, allowed), rule="unsupported-value"),)


def describe_unsupported(value: str, allowed: tuple[str, ...]) -> str:
    """Return a message that a value is not supported, with a similar allowed value or all allowed values."""
    reason = f"{quote(value)} is not supported{suggest(value, allowed)}"
    return reason if reason.endswith("?") else f"{reason}: use one of {', '.join(allowed)}"


def check_path(path: str, field: str, at: str) -> Iterator[FieldError]:
    """Check that a path is absolute, normalized and not the root; `at` is the subject of the error message."""
    if path == "/":
        yield FieldError(field, f"{at} must not point to root: use the path of a file", rule="invalid-value")
    elif normpath(f"/{path}").replace("//", "/") != path.removesuffix("/"):
        message = f"{at} must be an absolute path to a file without relative components, not {path}"
        yield FieldError(field, message, rule="invalid-value")


def is_serial(text: str) -> bool:
    """Return True if the text is a valid serial number."""
    return _SERIAL.fullmatch(text) is not None


def check_serial(serial: str, field: str, at: str) -> Iterator[FieldError]:
    """Check the length and the characters of a serial number; `at` is the subject of the error messages."""
    if is_serial(serial):
        return
    if len(serial) > MAX_SERIAL_LENGTH:
        message = f"{at} must be less than or equal to {MAX_SERIAL_LENGTH} in length, if specified"
        yield FieldError(field, message, rule="invalid-value")
    if not is_serial(serial[:MAX_SERIAL_LENGTH]):
        message = f"{at} must be made up of the following characters [A-Za-z0-9_.+-], if specified"
        yield FieldError(field, message, rule="invalid-value")
