"""
Sources of a serving certificate: a Secret that the component renews, or files that cert-manager renews.

Replicas share one Secret: one replica renews the certificate in it, and the other replicas use the renewed certificate.
"""

import asyncio
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from virtshape.api.core.config import Secret
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.client.protocol import Client
from virtshape.cluster.manifests.naming import Component, name_component, name_secret
from virtshape.cluster.tls.selfsigned import format_self_signed, parse_self_signed, renew

MAX_ATTEMPTS: Final = 8
CLUSTER_DOMAIN: Final = "cluster.local"


class ServingCertificate(Struct, frozen=True):
    """A certificate, its key and, if the component must inject it, the CA certificate; all in PEM."""

    certificate: bytes
    key: bytes
    authority: bytes = b""


class CertificateSource(Protocol):
    """Provides the serving certificate."""

    async def get(self) -> ServingCertificate:
        """Return the current certificate; raise OSError, StatusError or UnreachableError if it is not available."""


class SecretSource:
    """Stores the certificate in a Secret, and renews it."""

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        hosts: Collection[str],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace
        self._hosts = hosts
        self._clock = clock

    async def get(self) -> ServingCertificate:
        """Return the certificate in the Secret, renewed if that is due."""
        for _ in range(MAX_ATTEMPTS):
            secret = await self._find_secret()
            before = parse_self_signed(secret.data if secret is not None else None)
            pair = renew(before, self._hosts, self._clock())
            if pair is before or await self._store(secret, format_self_signed(pair)):
                return ServingCertificate(pair.certificate, pair.key, pair.authority)
        raise StatusError(
            409,
            "Conflict",
            f"Secret {self._namespace}/{self._name} changed during each of {MAX_ATTEMPTS} attempts to renew it",
        )

    async def _find_secret(self) -> Secret | None:
        try:
            return await self._client.get(Secret, self._name, self._namespace)
        except StatusError as error:
            if error.code != 404:
                raise
            return None

    async def _store(self, secret: Secret | None, data: dict[str, str]) -> bool:
        """Write the Secret; return False if another replica has changed it first."""
        try:
            if secret is None:
                metadata = ObjectMeta(name=self._name, namespace=self._namespace)
                await self._client.create(
                    Secret(api_version="v1", kind="Secret", metadata=metadata, type="Opaque", data=data)
                )
            else:
                await self._client.update(replace(secret, data={**(secret.data or {}), **data}))
        except StatusError as error:
            if error.code != 409:
                raise
            return False
        return True


class DirectorySource:
    """Reads the certificate from files, as mounted from a cert-manager Secret."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def get(self) -> ServingCertificate:
        """Return the certificate in the files."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> ServingCertificate:
        return ServingCertificate(
            (self._directory / "tls.crt").read_bytes(), (self._directory / "tls.key").read_bytes()
        )


class CertificateOptions(Struct, frozen=True, kw_only=True):
    """Where a component's certificate comes from: a directory if set, else a Secret in its namespace."""

    namespace: str
    directory: Path | None = None
    secret: str = ""
    hosts: tuple[str, ...] = ()
    """Additional DNS names and addresses in the certificate."""

    def get_source(self, client: Client, component: Component) -> CertificateSource:
        """Return the source of a component's certificate."""
        if self.directory is not None:
            return DirectorySource(self.directory)
        hosts = [*list_hosts(component, self.namespace), *self.hosts]
        return SecretSource(client, self.secret or name_secret(component), self.namespace, hosts)


def list_hosts(component: Component, namespace: str) -> list[str]:
    """Return the DNS names under which the API server may call a component."""
    name = name_component(component)
    host = f"{name}.{namespace}.svc"
    return [name, f"{name}.{namespace}", host, f"{host}.{CLUSTER_DOMAIN}"]
