"""
Look up an instance type or preference by name in files, and then in the built-in catalog.

An unknown or ambiguous name is an error whose message lists the candidates.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from virtshape import catalog
from virtshape.api.kinds import KINDS, Kind
from virtshape.api.status import StatusError
from virtshape.offline.files import Entry
from virtshape.resolve.matcher import INSTANCETYPE_GROUP

CLUSTER_KINDS: Final = ("VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference")


class Found(NamedTuple):
    """An object, with its entry if it is from a file; `elsewhere`, if set, replaces its position in messages."""

    object: Any
    entry: Entry | None = None
    elsewhere: str = ""

    @property
    def name(self) -> str:
        """The object's name."""
        return self.object.metadata.name or ""

    @property
    def place(self) -> str:
        """Where the object was found, for messages."""
        return self.elsewhere or (self.entry.place if self.entry else "the built-in catalog")


def is_source(kind: Kind) -> bool:
    """Return True if the kind is an instance type or a preference, which can be looked up."""
    return kind.group == INSTANCETYPE_GROUP


KINDS_BY_NAME: Final[dict[str, str]] = {
    name: kind.kind for kind in KINDS if is_source(kind) for name in (kind.singular, kind.plural, *kind.short_names)
}
"""The kinds by the names that kubectl accepts: singular, plural and short names."""


def get_source(
    name: str, kinds: Sequence[str], entries: Iterable[Entry], *, with_catalog: bool, elsewhere: str = ""
) -> Found:
    """Return the object with this name and one of these kinds; raise StatusError if there is none, or more than one."""
    there = [Found(entry.object, entry, elsewhere) for entry in entries]
    found = [each for each in there if each.object.kind in kinds and each.name == name]
    if not found and with_catalog:
        found = _find_built_in(name, kinds)
    if len(found) == 1:
        return found[0]
    if not found:
        raise _describe_missing(name, kinds, there, with_catalog=with_catalog)
    places = ", ".join(f"a {each.object.kind} in {each.place}" for each in found)
    step = "write KIND/NAME" if len({each.object.kind for each in found}) > 1 else "keep one of them"
    raise StatusError(400, "BadRequest", f'"{name}" is ambiguous: {places}; {step}')


def _find_built_in(name: str, kinds: Iterable[str]) -> list[Found]:
    return [Found(built_in) for kind in kinds if (built_in := catalog.find(kind, name)) is not None]


def _describe_missing(name: str, kinds: Sequence[str], there: Sequence[Found], *, with_catalog: bool) -> StatusError:
    message = f'there is no {" and no ".join(kinds)} "{name}"'
    namesakes = [each for each in there if each.name == name]
    listed = {each.object.kind for each in namesakes}
    namesakes += _find_built_in(name, [kind for kind in CLUSTER_KINDS if kind not in listed])
    known = [each.name for each in there if each.object.kind in kinds]
    if with_catalog:
        known += [built_in for kind in kinds for built_in in catalog.names(kind)]
    near = get_close_matches(name, dict.fromkeys(known), n=3)
    if namesakes:
        message += f"; {' and '.join(_point_to(each, kinds) for each in namesakes)}"
    elif near:
        message += f"; did you mean {' or '.join(near)}?"
    return StatusError(404, "NotFound", message)


def _point_to(found: Found, kinds: Sequence[str]) -> str:
    kind = found.object.kind
    step = "use --catalog" if kind in kinds else f"use {kind.lower()}/{found.name}"
    return f"{found.place} has a {kind}: {step}"
