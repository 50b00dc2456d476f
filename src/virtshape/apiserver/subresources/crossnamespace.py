"""
Authorize reads in other namespaces when a caller expands a VM.

Permission to expand VMs in one namespace does not permit reading claims, snapshots and data sources in another.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from virtshape.admission.clusterstate import CONFIGURATION
from virtshape.api.kinds import KINDS
from virtshape.api.status import StatusError
from virtshape.apiserver.admission.clonepermission import clone_attributes
from virtshape.apiserver.auth.authorization import Attributes, Decision, forbidden_object_error
from virtshape.resolve.reference import Reference

Authorize = Callable[[Attributes], Awaitable[Decision]]
"""Decides whether the caller may make a request with these attributes."""

MAX_READS: Final = 16


class CallerReads:
    """Checks that the caller may read the objects in other namespaces that an action on a VM needs."""

    def __init__(self, namespace: str, authorize: Authorize) -> None:
        self._namespace = namespace
        self._authorize = authorize
        self._permitted: set[Reference] = set()

    def needs_permission(self, reference: Reference) -> bool:
        """Return True if the object is in another namespace and the caller has not been authorized to read it yet."""
        if reference.namespace in ("", self._namespace) or reference == CONFIGURATION:
            return False
        return reference not in self._permitted

    async def require(self, reference: Reference) -> None:
        """Raise StatusError if the caller may not read an object in another namespace, or reads too many of them."""
        if not self.needs_permission(reference):
            return
        if len(self._permitted) >= MAX_READS:
            message = f"the VM refers to more than {MAX_READS} objects in other namespaces"
            raise StatusError(400, "BadRequest", message)
        await _require(reference, self._authorize)
        self._permitted.add(reference)


async def _require(reference: Reference, authorize: Authorize) -> None:
    """Raise StatusError 403 unless the caller may get the object or clone from its namespace."""
    plural = next(kind.plural for kind in KINDS if (kind.group, kind.kind) == (reference.group, reference.kind))
    wanted = (
        Attributes("get", reference.group, plural, "", reference.namespace, reference.name),
        clone_attributes(reference.namespace),
    )
    for one in wanted:
        if (await authorize(one)).allowed:
            return
    why = (
        f"the VM infers its instance type or preference from an object in namespace {reference.namespace} that you may "
        "neither get nor clone"
    )
    raise forbidden_object_error(reference.group, plural, reference.name, why)
