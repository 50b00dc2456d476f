"""Webhook requests: lookups at the API server, decoding, and limits of size and memory."""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.controllers import instancetype_tree
from tests.support.objects import object_from_tree
from tests.support.systems import open_system

from virtshape.admission import submission
from virtshape.admission.accounts import get_trusted_users
from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.apiserver.listener import Listener
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.patches.jsonpatch import patch_json
from virtshape.client.informer import Informers
from virtshape.client.rest import RestClient
from virtshape.cluster.admissioncontext import AdmissionContext
from virtshape.cluster.delegation import DelegatedAuthorizer
from virtshape.cluster.manifests import naming
from virtshape.cluster.webhook.handler import MAX_CONVERSION_BYTES, MAX_REVIEW_BYTES, ByteLimiter, Webhook, get_limit
from virtshape.supervise.supervisor import Supervisor

SOURCE: JsonObject = {
    "apiVersion": "cdi.kubevirt.io/v1beta1",
    "kind": "DataSource",
    "metadata": {"name": "image", "namespace": "default"},
    "spec": {"source": {"pvc": {"name": "golden", "namespace": "default"}}},
}
CLAIM: JsonObject = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {
        "name": "golden",
        "namespace": "default",
        "labels": {"instancetype.kubevirt.io/default-instancetype": "small"},
    },
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


class CountingClient:
    """A client that records each object that is read with a `get` request."""

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def get(self, kind: type[Any], name: str, namespace: str = "") -> Any:
        self.asked.append(f"{kind.__name__} {name}")
        return await self._client.get(kind, name, namespace)


@asynccontextmanager
async def open_webhook(directory: Path) -> AsyncIterator[tuple[Webhook, CountingClient]]:
    async with open_system("in-process", directory) as system:
        for tree in (instancetype_tree(), SOURCE, CLAIM):
            await system.client.create(object_from_tree(tree))
        client: Any = CountingClient(system.client)
        informers = Informers(system.client)
        context = AdmissionContext(client, informers)
        async with informers.running(Supervisor()):
            await informers.wait()
            yield Webhook(context, DelegatedAuthorizer(client), get_trusted_users("virtshape")), client


def build_vm(**spec: Any) -> JsonObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "vm1", "namespace": "default"},
        "spec": {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}}}}, **spec},
    }


def build_inferring_vm() -> JsonObject:
    source = {"kind": "DataSource", "name": "image"}
    storage = {"resources": {"requests": {"storage": "1Gi"}}}
    volumes = [{"name": "root", "dataVolume": {"name": "disk"}}]
    return build_vm(
        instancetype={"inferFromVolume": "root"},
        dataVolumeTemplates=[{"metadata": {"name": "disk"}, "spec": {"sourceRef": source, "storage": storage}}],
        template={"spec": {"domain": {"devices": {}}, "volumes": volumes}},
    )


async def review(webhook: Webhook, path: str, tree: JsonObject) -> JsonObject:
    request = {
        "uid": "1",
        "kind": {"group": "kubevirt.io", "version": "v1", "kind": tree["kind"]},
        "operation": "CREATE",
        "name": "vm1",
        "namespace": "default",
        "userInfo": {"username": "ann"},
        "object": tree,
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    pending: Any = webhook.handle(Request("POST", path, {}, msgspec.json.encode(body)))
    response: Response = await pending
    answer: JsonObject = msgspec.json.decode(response.body)["response"]
    return answer


async def complete(webhook: Webhook, tree: JsonObject) -> JsonObject:
    answer = await review(webhook, "/admit/mutate", tree)
    assert answer["allowed"], answer
    return patch_json(tree, msgspec.json.decode(b64decode(answer["patch"])))


async def test_validating_webhook_returns_no_patch(tmp_path: Path) -> None:
    async with open_webhook(tmp_path) as (webhook, _):
        vm = build_vm(instancetype={"name": "small"})
        assert await review(webhook, "/admit/validate", vm) == {"uid": "1", "allowed": True}
        assert await review(webhook, "/admit/validate", await complete(webhook, vm)) == {"uid": "1", "allowed": True}


async def test_settings_for_pods_cause_no_warning(tmp_path: Path) -> None:
    configuration = {"defaultRuntimeClass": "kata", "developerConfiguration": {"useEmulation": True}}
    kubevirt = {**build_vm(), "kind": "KubeVirt", "spec": {"configuration": configuration}}
    async with open_webhook(tmp_path) as (webhook, _):
        assert await review(webhook, "/admit/validate", kubevirt) == {"uid": "1", "allowed": True}


async def test_rejection_reads_each_object_once_more_from_the_api_server(tmp_path: Path) -> None:
    async with open_webhook(tmp_path) as (webhook, client):
        vm = await complete(webhook, build_vm(instancetype={"name": "smal"}))
        answer = await review(webhook, "/admit/validate", vm)
        assert not answer["allowed"]
        assert "did you mean small?" in answer["status"]["message"]
        cached = ["VirtualMachineClusterInstancetype smal", "VirtualMachineInstancetype smal"]
        assert client.asked == [*cached, "KubeVirt kubevirt", *cached]


async def test_inference_reads_each_referenced_object_once(tmp_path: Path) -> None:
    async with open_webhook(tmp_path) as (webhook, client):
        vm = await complete(webhook, build_inferring_vm())
        kind = "virtualmachineclusterinstancetype"
        assert vm["spec"]["instancetype"] == {"kind": kind, "name": "small"}
        permission = ["DataSource image"]
        assert client.asked == [*permission, "DataSource image", "PersistentVolumeClaim golden"]
        client.asked.clear()
        assert (await review(webhook, "/admit/validate", vm))["allowed"]
        assert client.asked == permission


@pytest.mark.parametrize("path", ["/admit/mutate", "/admit/validate"])
async def test_vm_in_a_review_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    decoded: list[type] = []

    def count(tree: object, struct: type[Any]) -> Any:
        decoded.append(struct)
        return from_tree(tree, struct)

    monkeypatch.setattr(submission, "from_tree", count)
    async with open_webhook(tmp_path) as (webhook, _):
        decoded.clear()
        assert (await review(webhook, path, build_inferring_vm()))["allowed"]
    assert decoded == [VirtualMachine]


@pytest.mark.parametrize("path", [naming.MUTATE_PATH, naming.VALIDATE_PATH])
async def test_deeply_nested_review_is_rejected(tmp_path: Path, path: str) -> None:
    async with open_webhook(tmp_path) as (webhook, _):
        pending: Any = webhook.handle(Request("POST", path, {}, b'{"request":' + b"[" * 300 + b"]" * 300 + b"}"))
        response: Response = await pending
        assert response.status == 400
        assert b"nested more than 200 levels" in response.body


async def post(port: int, path: str, size: int) -> bytes:
    """Send the head of a request with a body of this size; return the first line of the response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(
            f"POST {path} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: {size}\r\n\r\n".encode()
        )
        return (await asyncio.wait_for(reader.readline(), 240)).strip()
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        (f"{naming.MUTATE_PATH}?timeout=10s", MAX_REVIEW_BYTES),
        (naming.VALIDATE_PATH, MAX_REVIEW_BYTES),
        ("/other", MAX_REVIEW_BYTES),
        (f"{naming.CONVERT_PATH}?timeout=30s", MAX_CONVERSION_BYTES),
    ],
)
async def test_body_limit_depends_on_the_path(tmp_path: Path, path: str, limit: int) -> None:
    async with open_webhook(tmp_path) as (webhook, _):
        listener = Listener(webhook.handle, get_limit=get_limit)
        port = await listener.start("127.0.0.1", 0, None)
        try:
            assert await post(port, path, limit) == b"HTTP/1.1 100 Continue"
            assert (await post(port, path, limit + 1)).startswith(b"HTTP/1.1 413 ")
        finally:
            await listener.stop(0)


async def test_reviews_beyond_the_limit_wait_for_earlier_ones() -> None:
    limiter = ByteLimiter(10)
    await limiter.take(25)  # a single review may exceed the limit
    waiting = [asyncio.create_task(limiter.take(size)) for size in (6, 4, 1)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    limiter.release(25)
    await asyncio.gather(*waiting[:2])
    assert not waiting[2].done()
    limiter.release(4)
    await waiting[2]


async def test_cancelled_reviews_release_their_memory() -> None:
    limiter = ByteLimiter(10)
    await limiter.take(10)
    cancelled, granted = (asyncio.create_task(limiter.take(10)) for _ in range(2))
    await asyncio.sleep(0)
    cancelled.cancel()
    limiter.release(10)
    await granted
    assert cancelled.cancelled()
    limiter.release(10)
    await asyncio.wait_for(limiter.take(10), 240)
