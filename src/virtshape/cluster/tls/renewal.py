"""
Renew a component's serving certificate, serve it, and inject its CA where needed.

A failure is logged, and the renewal is retried; until that succeeds, the current certificate is served.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from virtshape.api.status import StatusError
from virtshape.client.errors import ConfigError, UnreachableError
from virtshape.client.rest import RestClient
from virtshape.cluster.tls.cainjection import InjectionTarget, inject_ca_bundle
from virtshape.cluster.tls.context import ReloadableContext, build_context
from virtshape.cluster.tls.sources import CertificateSource, ServingCertificate

FIRST_RETRY_SECONDS: Final = 1.0
INJECTION_RETRY_SECONDS: Final = 5.0
REFRESH_SECONDS: Final = 30.0
_log = logging.getLogger(__name__)

FindClientAuthority = Callable[[], Awaitable[bytes]]
"""A function that returns the CA of client certificates in PEM; empty if client certificates are not accepted."""


async def _get_no_authority() -> bytes:
    return b""


class CertificateRenewer:
    """Keeps a server's certificate up to date."""

    def __init__(
        self,
        client: RestClient,
        source: CertificateSource,
        targets: Sequence[InjectionTarget] = (),
        find_client_authority: FindClientAuthority = _get_no_authority,
    ) -> None:
        self._client = client
        self._source = source
        self._targets = targets
        self._find_client_authority = find_client_authority
        self._served: tuple[ServingCertificate, bytes] | None = None
        self._context: ReloadableContext | None = None
        self._found = asyncio.Event()
        self.is_trusted = False
        """True if the CA bundles of all targets contain the CA."""

    async def wait(self) -> ssl.SSLContext:
        """Return the TLS context once `run` has found a certificate."""
        await self._found.wait()
        if self._context is None:
            raise RuntimeError("no serving certificate is available")
        return self._context.outer

    async def run(self) -> None:
        """Keep the certificate and the injected CA bundles up to date, until cancelled."""
        pause = FIRST_RETRY_SECONDS
        while True:
            failure = ""
            try:
                await self._refresh()
                await self._inject_authority()
            except (StatusError, UnreachableError, ConfigError, OSError) as error:
                failure = str(error)
            seconds = pause
            if self._found.is_set():
                seconds = REFRESH_SECONDS if self.is_trusted else INJECTION_RETRY_SECONDS
            else:
                pause = min(2 * pause, REFRESH_SECONDS)
            if failure:
                what = "renewing" if self._found.is_set() else "getting"
                _log.warning("%s the serving certificate failed: %s; retrying in %g s", what, failure, seconds)
            await asyncio.sleep(seconds)

    async def _refresh(self) -> None:
        served = await self._source.get(), await self._find_client_authority()
        if served == self._served:
            return
        (certificate, clients) = served
        context = build_context(certificate.certificate, certificate.key, clients)
        if self._context is None:
            self._context = ReloadableContext(context)
        else:
            self._context.change(context)
            _log.info("serving with a new certificate")
        self._served = served
        self._found.set()

    async def _inject_authority(self) -> None:
        authority = self._served[0].authority if self._served is not None else b""
        absent = await inject_ca_bundle(self._client, self._targets, authority) if authority else []
        self.is_trusted = not absent
        if absent:
            _log.debug("injecting the CA bundle: these objects do not exist yet: %s; retrying", ", ".join(absent))
