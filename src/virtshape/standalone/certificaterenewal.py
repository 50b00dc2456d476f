"""Renewal of the API server's certificate while it runs; existing connections are kept."""

import asyncio
import logging
import ssl
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from virtshape.apiserver.auth.pki import Pki

MAX_PAUSE: Final = timedelta(hours=1)
_log = logging.getLogger(__name__)


async def renew_forever(pki: Pki, context: ssl.SSLContext, hosts: Sequence[str]) -> None:
    """Check the certificate regularly and replace it before it expires, until cancelled; the supervisor retries."""
    pause = min(MAX_PAUSE, pki.renew_before / 4).total_seconds()
    while True:
        # On the event loop, because a context must not change while a handshake starts.
        if pki.renew_server_context(context, hosts):
            _log.info("serving with a renewed certificate")
        await asyncio.sleep(pause)
