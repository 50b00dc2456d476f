"""Decode request bodies that refer to instance types and preferences, and find these objects."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec

from virtshape.admission.clusterstate import Finder
from virtshape.api.codec import decode
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.virtualmachine import InstancetypeMatcher
from virtshape.api.problems import DecodeError
from virtshape.api.status import StatusError
from virtshape.resolve.matcher import INSTANCETYPE_GROUP, KINDS, Role, full_kind
from virtshape.resolve.reference import NotFoundError, Reference
from virtshape.resolve.search import Search

T = TypeVar("T", bound=msgspec.Struct)

MAX_NAMED: Final = 25
MAX_LISTED: Final = 5000


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The name and kind of an instance type or preference."""

    name: str
    """The name of the object."""
    kind: str = ""
    """The kind of the object; by default the cluster-wide kind."""


def read_body(body: bytes, struct: type[T]) -> T:
    """Return the request in a body; raise StatusError 400 with all problems if the request is invalid."""
    try:
        return decode(body, struct)
    except DecodeError as error:
        message = f"Can not unmarshal Request body to struct, error: {error.message}"
        raise StatusError(400, "BadRequest", message, error.causes) from None


def require_few(field: str, named: list[Named] | None) -> None:
    """Raise StatusError 400 if the list has too many items."""
    if named is not None and len(named) > MAX_NAMED:
        message = f"must have at most {MAX_NAMED} items"
        raise StatusError(400, "BadRequest", f"{field}: {message}", [FieldError(field, message)])


def search_named(role: Role, named: Named, namespace: str, field: str) -> Search[tuple[Named, Any]]:
    """Find one object; raise NotFoundError if the object does not exist, StatusError 422 if its kind is wrong."""
    kind = full_kind(InstancetypeMatcher(name=named.name, kind=named.kind), role)
    where = "" if kind == KINDS[role].cluster else namespace
    reference = Reference(INSTANCETYPE_GROUP, kind, where, named.name)
    found = yield reference
    if found is None:
        raise NotFoundError(reference, f"{field}.name")
    return Named(named.name, kind), found


def search_listed(
    role: Role, wanted: list[Named] | None, namespace: str, known: Finder
) -> Search[list[tuple[Named, Any]]]:
    """Find the objects in a list; if the list is absent, return all objects in `known` that the namespace can use."""
    if wanted is None:
        return list(islice(_list_known(role, namespace, known), MAX_LISTED + 1))
    found: list[tuple[Named, Any]] = []
    for index, named in enumerate(dict.fromkeys(wanted)):
        found.append((yield from search_named(role, named, namespace, f"{role}s[{index}]")))
    return found


def _list_known(role: Role, namespace: str, known: Finder) -> Iterator[tuple[Named, Any]]:
    kinds = KINDS[role]
    for kind, where in ((kinds.cluster, ""), (kinds.namespaced, namespace)):
        for name in sorted(known.list_names(INSTANCETYPE_GROUP, kind, where)):
            yield Named(name, kind), known.find(Reference(INSTANCETYPE_GROUP, kind, where, name))
