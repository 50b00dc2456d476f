"""
Namespace deletion: delete all objects in a terminating namespace, then remove its finalizer.

The controller waits for objects with finalizers, and runs only where there is no kube-controller-manager.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec.structs import replace

from virtshape.api.core.namespace import Namespace, NamespaceSpec
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.runtime.loop import DONE, Name, Result

RECHECK_SECONDS: Final = 0.2
PAGE: Final = 500
FINALIZER: Final = "kubernetes"

Finalize = Callable[[Namespace], Awaitable[None]]
"""A function that updates spec.finalizers of a namespace through the finalize subresource."""


class NamespaceReconciler:
    """Reconciles namespaces through a client; `kinds` are all namespaced kinds."""

    def __init__(self, client: Client, cache: Cache, kinds: Sequence[type[Model]], finalize: Finalize) -> None:
        self._client = client
        self._cache = cache
        self._kinds = kinds
        self._finalize = finalize

    async def reconcile(self, name: Name) -> Result:
        """Delete all objects in a terminating namespace, then remove its finalizer."""
        namespace = self._cache.find(Namespace, name.name)
        if namespace is None or namespace.metadata.deletion_timestamp is None:
            return DONE
        held = (namespace.spec.finalizers if namespace.spec else None) or []
        if FINALIZER not in held:
            return DONE
        left = 0
        for kind in self._kinds:
            left += await self._empty(kind, name.name)
        if left:
            return Result(after=RECHECK_SECONDS)
        others = [one for one in held if one != FINALIZER]
        await self._finalize(replace(namespace, spec=NamespaceSpec(finalizers=others or None)))
        return DONE

    async def _empty(self, kind: type[Model], namespace: str) -> int:
        """Delete all objects of a kind in a namespace; return how many remain."""
        left, continuation = 0, ""
        while True:
            page = await self._client.list(kind, namespace, limit=PAGE, continuation=continuation)
            for item in page.items:
                left += await self._delete(kind, item)
            continuation = page.continuation
            if not continuation:
                return left

    async def _delete(self, kind: type[Model], item: Model) -> bool:
        """Delete one object; return True if the object still exists."""
        metadata = metadata_of(item)
        if metadata.deletion_timestamp is not None:
            return True
        try:
            deleting = await self._client.delete(
                kind, metadata.name or "", metadata.namespace or "", uid=metadata.uid or "", propagation="Background"
            )
        except StatusError as error:
            if error.code not in (404, 409):
                raise
            return error.code == 409
        return deleting is not None
