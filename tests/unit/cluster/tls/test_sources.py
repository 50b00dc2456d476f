"""Certificates in secrets, shared by replicas, and in files."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from tests.support.systems import open_system

from virtshape.api.core.config import Secret
from virtshape.api.meta import ObjectMeta
from virtshape.client.rest import RestClient
from virtshape.cluster.tls.sources import CertificateOptions, DirectorySource, SecretSource

HOSTS = ["localhost"]


async def test_concurrent_replicas_share_one_certificate(tmp_path: Path) -> None:
    async with open_system("in-process", tmp_path) as system:
        sources = [SecretSource(system.client, "tls", "default", HOSTS) for _ in range(5)]
        found = await asyncio.gather(*(source.get() for source in sources))
        assert len(set(map(repr, found))) == 1
        secret = await system.client.get(Secret, "tls", "default")
        assert sorted(secret.data or {}) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]


async def test_certificate_is_added_to_a_secret_without_removing_other_keys(tmp_path: Path) -> None:
    async with open_system("in-process", tmp_path) as system:
        await system.client.create(Secret(api_version="v1", kind="Secret", metadata=_named("tls"), data={"x": "eQ=="}))
        found = await SecretSource(system.client, "tls", "default", HOSTS).get()
        assert found.authority
        secret = await system.client.get(Secret, "tls", "default")
        assert (secret.data or {})["x"] == "eQ=="


async def test_changed_certificate_files_are_read_again(tmp_path: Path) -> None:
    source = DirectorySource(tmp_path)
    for text in (b"one", b"two"):
        (tmp_path / "tls.crt").write_bytes(text)
        (tmp_path / "tls.key").write_bytes(text)
        found = await source.get()
        assert (found.certificate, found.key, found.authority) == (text, text, b"")


def test_certificate_contains_all_service_names() -> None:
    settings = CertificateOptions(namespace="ns", hosts=("127.0.0.1",))
    source = settings.get_source(cast("RestClient", None), "webhook")
    assert isinstance(source, SecretSource)
    assert source._hosts == [  # noqa: SLF001 - not available otherwise
        "virtshape-webhook",
        "virtshape-webhook.ns",
        "virtshape-webhook.ns.svc",
        "virtshape-webhook.ns.svc.cluster.local",
        "127.0.0.1",
    ]


def _named(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace="default")


async def test_certificate_is_renewed_when_it_is_due(tmp_path: Path) -> None:
    async with open_system("in-process", tmp_path) as system:
        first = await SecretSource(system.client, "tls", "default", HOSTS).get()
        late = SecretSource(system.client, "tls", "default", HOSTS, lambda: datetime(2035, 1, 1, tzinfo=UTC))
        second = await late.get()
        assert second.certificate != first.certificate
        assert (await late.get()) == second
