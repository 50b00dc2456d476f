"""Serve the web console for a cluster on a user's machine, with its own certificates, as `virtshape console` does."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from virtshape.apiserver.auth.authentication import Credential
from virtshape.apiserver.auth.pki import Pki
from virtshape.apiserver.listener import Listener
from virtshape.client.access import Access
from virtshape.cluster.console.proxy import ConsoleProxy
from virtshape.web.console import format_url


class ConsoleReady(NamedTuple):
    """The address of the console, and a one-time sign-in link, which is None if the kubeconfig has no token."""

    url: str
    link: str | None


async def run(access: Access, host: str, port: int, directory: Path, on_ready: Callable[[ConsoleReady], None]) -> None:
    """Serve the console until cancelled; `directory` contains the certificates."""
    proxy = ConsoleProxy(access)
    listener = Listener(proxy.handle, authenticate=proxy.authenticate)
    try:
        token = (await access.credentials.fetch()).token
        chosen = await listener.start(host, port, Pki(directory / "pki").build_server_context([host]))
        url = format_url(host, chosen)
        link = await proxy.console.write_link(url, Credential(f"Bearer {token}")) if token else None
        on_ready(ConsoleReady(url, link))
        await asyncio.Event().wait()
    finally:
        await listener.stop()
        await proxy.close()
