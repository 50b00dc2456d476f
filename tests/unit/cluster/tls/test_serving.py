"""Certificates in use: shared by replicas, reloaded while listening, and injected as CA bundles."""

import asyncio
import base64
import json
import os
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.systems import open_system

from virtshape.api.core.config import Secret
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import read_certificate
from virtshape.apiserver.auth.certificates import Authority, make_key
from virtshape.apiserver.http import Listener
from virtshape.apiserver.message import Request, Response
from virtshape.client.rest import RestClient
from virtshape.client.transport import Reply
from virtshape.cluster.tls.cainjection import api_service_target, conversion_target, inject_ca_bundle, webhook_target
from virtshape.cluster.tls.context import ReloadableContext, build_context
from virtshape.cluster.tls.sources import CertificateOptions, DirectorySource, SecretSource

HOSTS = ["localhost"]


async def test_concurrent_replicas_share_one_certificate(tmp_path: Path) -> None:
    async with open_system("in-process", tmp_path) as system:
        sources = [SecretSource(system.client, "tls", "default", HOSTS) for _ in range(5)]
        found = await asyncio.gather(*(source.find() for source in sources))
        assert len(set(map(repr, found))) == 1
        secret = await system.client.get(Secret, "tls", "default")
        assert sorted(secret.data or {}) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]


async def test_certificate_is_stored_in_an_empty_secret_and_other_keys_are_kept(tmp_path: Path) -> None:
    async with open_system("in-process", tmp_path) as system:
        await system.client.create(Secret(api_version="v1", kind="Secret", metadata=_named("tls"), data={"x": "eQ=="}))
        found = await SecretSource(system.client, "tls", "default", HOSTS).find()
        assert found.authority
        secret = await system.client.get(Secret, "tls", "default")
        assert (secret.data or {})["x"] == "eQ=="


async def test_certificate_files_are_read_again(tmp_path: Path) -> None:
    source = DirectorySource(tmp_path)
    for text in (b"one", b"two"):
        (tmp_path / "tls.crt").write_bytes(text)
        (tmp_path / "tls.key").write_bytes(text)
        found = await source.find()
        assert (found.certificate, found.key, found.authority) == (text, text, b"")


def test_certificate_contains_all_service_names() -> None:
    settings = CertificateOptions(namespace="ns", hosts=("127.0.0.1",))
    source = settings.find_source(cast("RestClient", None), "webhook")
    assert isinstance(source, SecretSource)
    assert source._hosts == [  # noqa: SLF001 - not available otherwise
        "virtshape-webhook",
        "virtshape-webhook.ns",
        "virtshape-webhook.ns.svc",
        "virtshape-webhook.ns.svc.cluster.local",
        "127.0.0.1",
    ]


@pytest.mark.parametrize("name", ["localhost", None], ids=["by name", "by address, without SNI"])
async def test_new_connections_use_the_current_context(name: str | None) -> None:
    servers = [Authority.create(make_key(), f"ca{n}") for n in range(2)]
    clients = Authority.create(make_key(), "clients")
    contexts = [_build(server, clients.pem) for server in servers]
    shown = clients.issue_client("proxy")

    changing = ReloadableContext(contexts[0])
    listener = Listener(_respond_with_user)
    port = await listener.start("127.0.0.1", 0, changing.outer)
    assert await _ask(port, servers[0], name) == "nobody"
    assert await _ask(port, servers[0], name, shown.certificate + shown.key) == "proxy"
    changing.change(_build(servers[1], Authority.create(make_key(), "others").pem))
    assert await _ask(port, servers[1], name) == "nobody"
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await _ask(port, servers[1], name, shown.certificate + shown.key)
    with pytest.raises(ssl.SSLError):
        await _ask(port, servers[0], name)
    await listener.stop()


def _build(authority: Authority, clients: bytes) -> ssl.SSLContext:
    credential = authority.issue_server(["localhost", "127.0.0.1"])
    return build_context(credential.certificate, credential.key, clients)


def _respond_with_user(request: Request) -> Response:
    shown = read_certificate(request.certificate)
    return Response(200, (shown.user.name if shown else "nobody").encode(), "text/plain")


async def _ask(port: int, authority: Authority, name: str | None, identity: bytes = b"") -> str:
    context = ssl.create_default_context(cadata=authority.pem.decode())
    if identity:
        path = Path(f"/proc/self/fd/{_write(identity)}")
        context.load_cert_chain(path)
    host = name or "127.0.0.1"
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=host)
    try:
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        answer = await reader.read()
    finally:
        writer.close()
    if not answer:
        raise ConnectionResetError
    return answer.rpartition(b"\r\n\r\n")[2].decode()


def _write(identity: bytes) -> int:
    handle = os.memfd_create("identity")
    os.write(handle, identity)
    return handle


class RecordingClient:
    """A client of a fake server with these objects that records patches."""

    def __init__(self, objects: dict[str, Any]) -> None:
        self._objects = objects
        self.patched: dict[str, Any] = {}

    async def request(self, method: str, target: str, body: bytes = b"", content_type: str = "") -> Reply:
        if target not in self._objects:
            raise StatusError(404, "NotFound", target)
        if method == "PATCH":
            self.patched[target] = (content_type.partition("+")[0].removeprefix("application/"), json.loads(body))
        return Reply(200, {}, json.dumps(self._objects[target]).encode())


CA = b"authority"
BUNDLE = base64.b64encode(CA).decode()
HOOKS = webhook_target("mutatingwebhookconfigurations", "virtshape")
CRD = conversion_target("things.example.com")
API = api_service_target("v1.example.com")

TRUSTS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "nothing to inject": ({}, {}, 3),
    "webhooks without a CA bundle": (
        {
            HOOKS.path: {
                "webhooks": [
                    {"name": "a", "clientConfig": {}},
                    {"name": "b", "clientConfig": {"caBundle": BUNDLE}},
                    {"name": "c", "clientConfig": {"caBundle": "b2xk"}},
                ]
            }
        },
        {
            HOOKS.path: (
                "strategic-merge-patch",
                {"webhooks": [{"name": name, "clientConfig": {"caBundle": BUNDLE}} for name in "ac"]},
            )
        },
        2,
    ),
    "CRD with conversion": (
        {CRD.path: {"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {}}}}}}},
        {
            CRD.path: (
                "merge-patch",
                {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": BUNDLE}}}}},
            )
        },
        2,
    ),
    "CRD without conversion": ({CRD.path: {"spec": {"conversion": {"strategy": "None"}}}}, {}, 2),
    "APIService": (
        {API.path: {"spec": {"service": {"name": "a"}}}},
        {API.path: ("merge-patch", {"spec": {"caBundle": BUNDLE}})},
        2,
    ),
    "current CA bundle": ({API.path: {"spec": {"service": {"name": "a"}, "caBundle": BUNDLE}}}, {}, 2),
}


@pytest.mark.parametrize(("objects", "patched", "absent"), TRUSTS.values(), ids=TRUSTS.keys())
async def test_ca_bundle_is_injected(objects: dict[str, Any], patched: dict[str, Any], absent: int) -> None:
    client = RecordingClient(objects)
    missing = await inject_ca_bundle(cast("RestClient", client), [HOOKS, CRD, API], CA)
    assert (client.patched, len(missing)) == (patched, absent)


def _named(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace="default")


async def test_certificate_is_renewed_by_the_clock(tmp_path: Path) -> None:
    async with open_system("in-process", tmp_path) as system:
        first = await SecretSource(system.client, "tls", "default", HOSTS).find()
        late = SecretSource(system.client, "tls", "default", HOSTS, lambda: datetime(2035, 1, 1, tzinfo=UTC))
        second = await late.find()
        assert second.certificate != first.certificate
        assert (await late.find()) == second
