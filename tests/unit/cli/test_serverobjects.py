"""Fetching instance types and preferences from servers, including those with older API versions."""

import json
from typing import Any, cast

import pytest

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError
from virtshape.cli.serverobjects import PLACE, ServerObjects
from virtshape.client.access import Access
from virtshape.client.transport import Reply
from virtshape.offline.sources import CLUSTER_KINDS, get_source
from virtshape.resolve.reference import Reference

GROUP = "/apis/instancetype.kubevirt.io"


class FakeServer:
    """A server that returns the given documents by path, or raises the document if it is an exception."""

    def __init__(self, documents: dict[str, JsonObject | StatusError]) -> None:
        self._documents = documents
        self.asked: list[str] = []

    async def request(self, method: str, target: str) -> Reply:
        assert method == "GET"
        self.asked.append(target)
        found = self._documents.get(target, StatusError(404, "NotFound", "not found"))
        if isinstance(found, StatusError):
            raise found
        return Reply(200, {}, json.dumps(found).encode())


def serve(documents: dict[str, JsonObject | StatusError], *versions: str) -> tuple[ServerObjects, FakeServer]:
    served: JsonObject = {"versions": [{"version": version} for version in versions]}
    server = FakeServer({**({GROUP: served} if versions else {}), **documents})
    session = Session(Access("https://there"), "team", cast("Any", None), cast("Any", server))
    return ServerObjects(session), server


def build(kind: str, name: str, version: str = "v1beta1", **spec: Any) -> JsonObject:
    return {"apiVersion": f"instancetype.kubevirt.io/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec}


SMALL = build("VirtualMachineClusterInstancetype", "small", cpu={"guest": 1}, memory={"guest": "1Gi"}, ours="kept")


async def test_newest_api_version_of_the_server_is_used() -> None:
    path = f"{GROUP}/v1beta1/virtualmachineclusterinstancetypes/small"
    cluster, server = serve({path: SMALL}, "v1beta1", "v1alpha2", "v1alpha1")
    entries = await cluster.find_sources("small", CLUSTER_KINDS)
    found = get_source("small", CLUSTER_KINDS, entries, with_catalog=False, elsewhere=PLACE)
    assert (found.object.api_version, found.place) == ("instancetype.kubevirt.io/v1beta1", "the server")
    assert [field.value for field in entries[0].unknown] == ["kept"]
    assert server.asked == [GROUP, path, path.replace("instancetypes", "preferences")]


async def test_suggestion_for_a_missing_object_uses_all_readable_kinds() -> None:
    nothing: JsonObject = {"kind": "List", "items": []}
    documents: dict[str, JsonObject | StatusError] = {
        f"{GROUP}/v1beta2/virtualmachineclusterinstancetypes": {"kind": "List", "items": [SMALL]},
        f"{GROUP}/v1beta2/virtualmachineclusterpreferences": nothing,
        f"{GROUP}/v1beta2/namespaces/team/virtualmachineinstancetypes": StatusError(403, "Forbidden", "no"),
        f"{GROUP}/v1beta2/namespaces/team/virtualmachinepreferences": nothing,
    }
    cluster, _ = serve(documents, "v1beta2")
    entries = await cluster.find_sources("smal", CLUSTER_KINDS)
    with pytest.raises(StatusError, match="did you mean small"):
        get_source("smal", CLUSTER_KINDS, entries, with_catalog=False, elsewhere=PLACE)


async def test_server_without_instancetypes_is_reported() -> None:
    cluster, _ = serve({})
    with pytest.raises(CommandError, match="https://there does not serve instance types"):
        await cluster.find_sources("small", CLUSTER_KINDS)


async def test_object_of_any_kind_is_fetched_by_reference() -> None:
    claim: JsonObject = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "root"}, "spec": {}}
    cluster, _ = serve({"/api/v1/namespaces/prod/persistentvolumeclaims/root": claim})
    fetched = await cluster.fetch(Reference("", "PersistentVolumeClaim", "prod", "root"))
    assert fetched.metadata.name == "root"
    assert await cluster.fetch(Reference("", "PersistentVolumeClaim", "prod", "other")) is None
