"""Previews: compute a result from stored objects and the body of a request. Nothing is stored."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from virtshape.admission.clusterstate import Steps
from virtshape.api.codec import decode, encode
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.apiserver.auth.authorization import Attributes
from virtshape.apiserver.subresources.compatibility import (
    CompatibilityList,
    read_compatibility_request,
    search_compatibility,
)
from virtshape.apiserver.subresources.crossnamespace import Authorize, CallerReads
from virtshape.apiserver.subresources.customize import read_customize_request, search_customized
from virtshape.apiserver.subresources.explain import explain_sent
from virtshape.apiserver.subresources.fit import FitList, describe_capacity, read_fit_request, search_fit
from virtshape.apiserver.subresources.migratetype import read_move_request, search_move
from virtshape.apiserver.subresources.named import read_body
from virtshape.apiserver.subresources.objects import ObjectStore, get_object
from virtshape.apiserver.subresources.planner import Planner
from virtshape.apiserver.subresources.recommend import read_recommend_request, search_recommendation
from virtshape.apiserver.subresources.route import (
    COMPATIBILITY,
    CUSTOMIZE,
    FIT,
    IMPORT,
    KINDS,
    MIGRATE_TYPE,
    RECOMMEND,
    VIRTUAL_MACHINE_INSTANCES,
    VIRTUAL_MACHINES,
    ActionRoute,
)
from virtshape.resolve.importrequest import ImportRequest

_CHECKED_AT_ONCE: Final = 100
_LIST_NODES: Final = Attributes("list", "", "nodes")


class Previews:
    """Computes previews from the objects in an object store."""

    def __init__(self, objects: ObjectStore, planner: Planner) -> None:
        self._objects = objects
        self._planner = planner
        self._import_thread = ThreadPoolExecutor(1, "preview-import")
        """One thread, because parsing YAML needs much memory; a client that disconnects starts no second parser."""

    async def answer(self, body: bytes, route: ActionRoute, authorize: Authorize) -> bytes:
        """Return the result of a preview as JSON; `authorize` checks further permissions of the caller."""
        namespace, reads = route.namespace, CallerReads(route.namespace, authorize)
        start: Callable[[], Steps[bytes]]
        if route.resource == COMPATIBILITY:
            return await self._check_compatibility(body, namespace, reads)
        if route.resource == FIT:
            return await self._check_fit(body, namespace, reads, authorize)
        if route.resource == IMPORT:
            return await self._preview_import(body)
        if route.resource == MIGRATE_TYPE:
            return await self._preview_move(body, namespace, reads)
        if route.resource == RECOMMEND:
            start = partial(search_recommendation, read_recommend_request(body), namespace, self._objects.cluster.known)
        elif route.resource == CUSTOMIZE:
            start = partial(search_customized, read_customize_request(body), namespace)
        else:
            start = partial(explain_sent, body, namespace, self._objects.cluster)
        return await self._objects.run(start, reads)

    async def _check_compatibility(self, body: bytes, namespace: str, reads: CallerReads) -> bytes:
        wanted = read_compatibility_request(body)
        start = partial(search_compatibility, wanted, namespace, self._objects.cluster.known)
        inputs = await self._objects.run(start, reads)
        items = []
        for item in inputs.check():
            items.append(item)
            if len(items) % _CHECKED_AT_ONCE == 0:
                await asyncio.sleep(0)  # let the event loop handle other requests
        return encode(CompatibilityList(items))

    async def _check_fit(self, body: bytes, namespace: str, reads: CallerReads, authorize: Authorize) -> bytes:
        wanted = read_fit_request(body)
        start = partial(search_fit, wanted, namespace, self._objects.cluster.known)
        inputs = await self._objects.run(start, reads)
        measured = await self._planner.measure(inputs.vms, inputs.configuration)
        with_nodes = (await authorize(_LIST_NODES)).allowed
        items = [
            describe_capacity(named, capacity, with_nodes=with_nodes)
            for named, capacity in zip(inputs.names, measured, strict=True)
        ]
        return encode(FitList(items))

    async def _preview_import(self, body: bytes) -> bytes:
        request = read_body(body, ImportRequest)
        loop = asyncio.get_running_loop()
        return encode(await loop.run_in_executor(self._import_thread, self._planner.preview_import, request))

    async def _preview_move(self, body: bytes, namespace: str, reads: CallerReads) -> bytes:
        name, to = read_move_request(body)
        stored = await get_object(self._objects, KINDS[VIRTUAL_MACHINES], namespace, name, "virtualmachine")
        running = await self._objects.find(KINDS[VIRTUAL_MACHINE_INSTANCES], namespace, name)
        vm = decode(stored, VirtualMachine)
        vmi = decode(running, VirtualMachineInstance) if running is not None else None
        return await self._objects.run(partial(search_move, vm, vmi, to, self._planner), reads)
