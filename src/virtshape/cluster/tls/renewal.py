"""
A certificate kept in order while a server runs: looked after every now and then, served, and trusted where it must be.

What goes wrong is logged and tried again; what is served stays until there is something better.
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
"""Finds the authority of clients that may show a certificate; empty for none."""


async def _find_no_authority() -> bytes:
    return b""


class CertificateRenewer:
    """Has a server serve with the certificate of the moment."""

    def __init__(
        self,
        client: RestClient,
        source: CertificateSource,
        targets: Sequence[InjectionTarget] = (),
        find_client_authority: FindClientAuthority = _find_no_authority,
    ) -> None:
        self._client = client
        self._source = source
        self._targets = targets
        self._find_client_authority = find_client_authority
        self._served: tuple[ServingCertificate, bytes] | None = None
        self._context: ReloadableContext | None = None
        self._found = asyncio.Event()
        self.is_trusted = False
        """Whether all that call us were told whom to trust, as far as that is ours to do."""

    async def wait(self) -> ssl.SSLContext:
        """Return the settings to serve with, once `run` has found a certificate."""
        await self._found.wait()
        if self._context is None:
            raise RuntimeError("there is no certificate")
        return self._context.outer

    async def run(self) -> None:
        """Keep the certificate and the trust in it up to date, until cancelled."""
        pause = FIRST_RETRY_SECONDS
        while True:
            try:
                await self._refresh()
                await self._inject_authority()
            except (StatusError, UnreachableError, ConfigError, OSError) as error:
                what = "updating" if self._found.is_set() else "finding"
                _log.warning("%s the serving certificate failed: %s; trying again", what, error)
            if self._found.is_set():
                await asyncio.sleep(REFRESH_SECONDS if self.is_trusted else INJECTION_RETRY_SECONDS)
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, REFRESH_SECONDS)

    async def _refresh(self) -> None:
        served = await self._source.find(), await self._find_client_authority()
        if served == self._served:
            return
        (certificate, clients) = served
        context = build_context(certificate.certificate, certificate.key, clients)
        if self._context is None:
            self._context = ReloadableContext(context)
        else:
            self._context.change(context)
            _log.info("another certificate is served from now on")
        self._served = served
        self._found.set()

    async def _inject_authority(self) -> None:
        authority = self._served[0].authority if self._served is not None else b""
        absent = await inject_ca_bundle(self._client, self._targets, authority) if authority else []
        self.is_trusted = not absent
        if absent:
            _log.debug("nobody is to trust us at %s yet", ", ".join(absent))
