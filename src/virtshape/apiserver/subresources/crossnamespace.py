"""
Authorize reads in other namespaces when a caller expands a VM.

Permission to expand VMs in one namespace does not include claims, snapshots and data sources in another.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Final, TypeVar

from virtshape.admission.clones import GROUP as CLONE_GROUP
from virtshape.api.kinds import KINDS
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authorization import Attributes, Decision, forbidden_object_error
from virtshape.resolve.reference import Lookup, Reference

T = TypeVar("T")
Authorize = Callable[[Attributes], Awaitable[Decision]]
"""Decides whether the caller of a request may do something."""

MAX_READS: Final = 16


class CrossNamespaceReadError(Exception):
    """A lookup of an object in another namespace that the caller is not yet authorized to read."""

    def __init__(self, reference: Reference) -> None:
        super().__init__(str(reference))
        self.reference = reference


def limit_lookup(find: Lookup, namespace: str, permitted: Collection[Reference]) -> Lookup:
    """Return a lookup that raises CrossNamespaceReadError for other namespaces, except for permitted objects."""

    def lookup(reference: Reference) -> Model | None:
        if reference.namespace not in ("", namespace) and reference not in permitted:
            raise CrossNamespaceReadError(reference)
        return find(reference)

    return lookup


async def read_as_caller(decide: Callable[[Collection[Reference]], Awaitable[T]], authorize: Authorize) -> T:
    """Call `decide` with the objects in other namespaces that the caller may read; else raise StatusError 403."""
    permitted: set[Reference] = set()
    while True:
        try:
            return await decide(permitted)
        except CrossNamespaceReadError as error:
            if len(permitted) >= MAX_READS:
                message = f"the VM refers to more than {MAX_READS} objects in other namespaces"
                raise StatusError(400, "BadRequest", message) from error
            await _require(error.reference, authorize)
            permitted.add(error.reference)


async def _require(reference: Reference, authorize: Authorize) -> None:
    """Raise StatusError 403 unless the caller may get the object or clone from its namespace."""
    plural = next(kind.plural for kind in KINDS if (kind.group, kind.kind) == (reference.group, reference.kind))
    wanted = (
        Attributes("get", reference.group, plural, "", reference.namespace, reference.name),
        Attributes("create", CLONE_GROUP, "datavolumes", "source", reference.namespace),
    )
    for one in wanted:
        if (await authorize(one)).allowed:
            return
    why = f"the VM infers from an object in namespace {reference.namespace} that you may neither get nor clone"
    raise forbidden_object_error(reference.group, plural, reference.name, why)
