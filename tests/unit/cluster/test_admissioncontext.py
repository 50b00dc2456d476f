"""Lookups for admission in a cluster: objects come from the cache, and are read again before a rejection."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.controllers import instancetype_tree
from tests.support.objects import object_from_tree
from tests.support.systems import open_system

from virtshape.admission.clusterstate import Query, Steps, VMCount
from virtshape.api.apps import ControllerRevision
from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.api.meta import ObjectMeta, OwnerReference
from virtshape.api.status import StatusError
from virtshape.client.informer import Informers
from virtshape.client.rest import RestClient
from virtshape.cluster.admissioncontext import AdmissionContext
from virtshape.resolve.reference import Reference
from virtshape.supervise.supervisor import Supervisor

SMALL = Reference("instancetype.kubevirt.io", "VirtualMachineClusterInstancetype", "", "small")


class RecordingClient:
    """A client that records requests for single objects."""

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self.requested: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def get(self, kind: type[Any], name: str, namespace: str = "") -> Any:
        self.requested.append(f"{kind.__name__} {name}")
        return await self._client.get(kind, name, namespace)


@asynccontextmanager
async def open_context(directory: Path) -> AsyncIterator[tuple[AdmissionContext, Informers, RecordingClient]]:
    async with open_system("in-process", directory) as system:
        client = RecordingClient(system.client)
        informers = Informers(system.client)
        context = AdmissionContext(client, informers)  # type: ignore[arg-type]  # it passes on
        await system.client.create(object_from_tree(instancetype_tree()))
        yield context, informers, client


def measure() -> Steps[int]:
    found = yield SMALL
    if not isinstance(found, VirtualMachineClusterInstancetype):
        raise StatusError(404, "NotFound", "not found")
    guest = found.spec.cpu.guest if found.spec.cpu else None
    if not guest or guest < 4:
        raise StatusError(422, "Invalid", f"{guest} is too small")
    return guest


def find(query: Query) -> Steps[Any]:
    return (yield query)


def find_small() -> Steps[Any]:
    return find(SMALL)


async def test_cached_objects_are_not_requested_from_the_api_server(tmp_path: Path) -> None:
    async with open_context(tmp_path) as (context, informers, client), informers.running(Supervisor()):
        await informers.wait()
        assert informers.are_synced
        assert await context.run(find_small) is not None
        assert client.requested == []


async def test_uncached_objects_are_requested_from_the_api_server(tmp_path: Path) -> None:
    async with open_context(tmp_path) as (context, informers, client):
        assert not informers.are_synced
        assert await context.run(find_small) is not None
        assert client.requested == ["VirtualMachineClusterInstancetype small"]


async def test_missing_object_is_rejected_after_a_request_to_the_api_server(tmp_path: Path) -> None:
    async with open_context(tmp_path) as (context, _, client):
        await client.delete(VirtualMachineClusterInstancetype, "small")
        with pytest.raises(StatusError, match="not found"):
            await context.run(measure)
        assert client.requested == ["VirtualMachineClusterInstancetype small"]


async def test_decision_is_repeated_with_current_objects_before_a_rejection(tmp_path: Path) -> None:
    async with open_context(tmp_path) as (context, informers, client):
        async with informers.running(Supervisor()):
            await informers.wait()
        with pytest.raises(StatusError, match="2 is too small"):
            await context.run(measure)
        patch = {"spec": {"cpu": {"guest": 8}}}
        await client.patch(VirtualMachineClusterInstancetype, "small", patch=patch)
        assert await context.run(measure) == 8


async def test_suggested_names_come_from_the_cache(tmp_path: Path) -> None:
    async with open_context(tmp_path) as (context, informers, client), informers.running(Supervisor()):
        await informers.wait()
        known = context.cluster.known
        assert known.list_names(SMALL.group, SMALL.kind, "") == ["small"]
        assert known.find(SMALL) is not None
        assert known.find(Reference("", "ConfigMap", "default", "small")) is None
        assert client.requested == []


async def test_admission_decision_with_several_lookups_is_not_restarted(tmp_path: Path) -> None:
    starts = 0

    def search() -> Steps[list[object]]:
        nonlocal starts
        starts += 1
        a = yield Reference("", "ConfigMap", "default", "a")
        b = yield Reference("", "ConfigMap", "default", "b")
        again = yield Reference("", "ConfigMap", "default", "a")
        return [a, b, again]

    async with open_context(tmp_path) as (context, _, client):
        assert await context.run(search) == [None, None, None]
        assert starts == 1
        assert client.requested == ["ConfigMap a", "ConfigMap b"]


async def test_forbidden_lookup_is_not_repeated(tmp_path: Path) -> None:
    requested: list[Reference] = []

    async def require(reference: Reference) -> None:
        requested.append(reference)
        if reference != SMALL:
            raise StatusError(403, "Forbidden", "not yours")

    def search() -> Steps[None]:
        yield SMALL
        yield Reference("", "ConfigMap", "other", "secret")

    async with open_context(tmp_path) as (context, informers, client), informers.running(Supervisor()):
        await informers.wait()
        with pytest.raises(StatusError, match="not yours"):
            await context.run(search, require)
        assert (len(requested), client.requested) == (2, [])


async def test_each_revision_is_requested_once(tmp_path: Path) -> None:
    async with open_context(tmp_path) as (context, _, client):
        await client.create(build_revision("r1", "vm1"))
        reference = Reference("apps", "ControllerRevision", "default", "r1")
        for _unused in range(2):
            assert await context.run(lambda: find(reference)) is not None
        assert client.requested == ["ControllerRevision r1"]


async def test_vms_that_use_an_object_are_counted_by_their_revisions(tmp_path: Path) -> None:
    async with open_context(tmp_path) as (context, _, client):
        for name, owner in (("r1", "a"), ("r2", "a"), ("r3", "b")):
            await client.create(build_revision(name, owner))
        assert await context.run(lambda: find(VMCount(SMALL))) == 2


def build_revision(name: str, owner: str) -> ControllerRevision:
    labels = {
        "instancetype.kubevirt.io/object-name": "small",
        "instancetype.kubevirt.io/object-kind": "VirtualMachineClusterInstancetype",
    }
    reference = OwnerReference(name=owner, api_version="kubevirt.io/v1", kind="VirtualMachine", uid=owner)
    metadata = ObjectMeta(name=name, namespace="default", labels=labels, owner_references=[reference])
    return ControllerRevision(api_version="apps/v1", kind="ControllerRevision", metadata=metadata, revision=1)


async def test_number_of_lookups_for_a_review_is_limited(tmp_path: Path) -> None:
    requested = iter(range(1000))

    def wonder() -> Steps[None]:
        while True:
            yield Reference("", "ConfigMap", "default", str(next(requested)))

    async with open_context(tmp_path) as (context, _, client):
        with pytest.raises(StatusError, match="more than 64 lookups"):
            await context.run(wonder)
        assert len(client.requested) == 64
