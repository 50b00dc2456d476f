"""Access to a cluster's VMs and VMIs through its API server."""

from collections.abc import Callable
from typing import Final, TypeVar

from virtshape.admission.clusterstate import ClusterState, Steps
from virtshape.api.kinds import Kind
from virtshape.api.status import StatusError
from virtshape.apiserver.message import Request
from virtshape.apiserver.subresources.crossnamespace import CallerReads
from virtshape.apiserver.subresources.startstop import Change
from virtshape.client.resources import format_target
from virtshape.client.rest import RestClient
from virtshape.cluster.admissioncontext import AdmissionContext

T = TypeVar("T")

_MISSING: Final = 404


class ClusterObjects:
    """Reads and patches objects through the API server."""

    def __init__(self, client: RestClient, context: AdmissionContext) -> None:
        self._client = client
        self._context = context
        self.cluster: ClusterState = context.cluster

    async def find(self, kind: Kind, namespace: str, name: str) -> bytes | None:
        """Return the current JSON of an object from the API server, or None if it does not exist."""
        try:
            return (await self._client.request("GET", format_target(kind, namespace, name))).body
        except StatusError as error:
            if error.code != _MISSING:
                raise
            return None

    async def change(
        self, request: Request, kind: Kind, namespace: str, name: str, change: Change, *, dry_run: bool
    ) -> None:
        """Patch the object with the values of the change."""
        del request
        subresource = "status" if change.part == "status" else ""
        patch = {change.part: change.values}
        await self._client.patch(kind.struct, name, namespace, patch=patch, subresource=subresource, dry_run=dry_run)

    async def run(self, start: Callable[[], Steps[T]], reads: CallerReads) -> T:
        """Return the result of a search; `reads` must permit each object that the search reads."""
        return await self._context.run(start, reads.require)
