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
from virtshape.cluster.tls.context import ChangingContext, build_context
from virtshape.cluster.tls.sources import CertificateSource, Served
from virtshape.cluster.tls.trust import Truster, spread_trust

FIRST_PAUSE: Final = 1.0
SETTLING_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 30.0
_log = logging.getLogger(__name__)

FindClientAuthority = Callable[[], Awaitable[bytes]]
"""Finds the authority of clients that may show a certificate; empty for none."""


async def _find_nobody() -> bytes:
    return b""


class CertificateKeeper:
    """Has a server serve with the certificate of the moment."""

    def __init__(
        self,
        client: RestClient,
        source: CertificateSource,
        trusters: Sequence[Truster] = (),
        find_client_authority: FindClientAuthority = _find_nobody,
    ) -> None:
        self._client = client
        self._source = source
        self._trusters = trusters
        self._find_client_authority = find_client_authority
        self._served: tuple[Served, bytes] | None = None
        self._context: ChangingContext | None = None
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
        pause = FIRST_PAUSE
        while True:
            try:
                await self._look()
                await self._spread()
            except (StatusError, UnreachableError, ConfigError, OSError) as error:
                what = "updating" if self._found.is_set() else "finding"
                _log.warning("%s the serving certificate failed: %s; trying again", what, error)
            if self._found.is_set():
                await asyncio.sleep(LOOK_SECONDS if self.is_trusted else SETTLING_SECONDS)
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LOOK_SECONDS)

    async def _look(self) -> None:
        served = await self._source.find(), await self._find_client_authority()
        if served == self._served:
            return
        (certificate, clients) = served
        context = build_context(certificate.certificate, certificate.key, clients)
        if self._context is None:
            self._context = ChangingContext(context)
        else:
            self._context.change(context)
            _log.info("another certificate is served from now on")
        self._served = served
        self._found.set()

    async def _spread(self) -> None:
        authority = self._served[0].authority if self._served is not None else b""
        absent = await spread_trust(self._client, self._trusters, authority) if authority else []
        self.is_trusted = not absent
        if absent:
            _log.debug("nobody is to trust us at %s yet", ", ".join(absent))
