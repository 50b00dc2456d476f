"""
TLS settings that can change under a listening socket: each new connection has those of the moment.

Python loads certificates from files alone; those here are their owner's, and gone at once.
"""

import ssl
import tempfile
from pathlib import Path
from typing import Any


class ReloadableContext:
    """What a TLS server is given: it hands each connection on to the settings that count by then."""

    def __init__(self, first: ssl.SSLContext) -> None:
        self._current = first
        self.outer = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.outer.minimum_version = first.minimum_version
        self.outer.verify_mode = first.verify_mode
        self.outer.set_alpn_protocols(["http/1.1"])
        self.outer.sni_callback = self._switch  # called also for clients that name no server

    def change(self, context: ssl.SSLContext) -> None:
        """Have connections from now on under other settings; whether client certificates are asked for stays."""
        self._current = context

    def _switch(self, connection: Any, name: str | None, outer: ssl.SSLContext) -> None:
        del name, outer
        connection.context = self._current


def build_context(certificate: bytes, key: bytes, client_authority: bytes = b"") -> ssl.SSLContext:
    """The settings of a server with this certificate; clients may show one of that authority, if there is one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(Path(file.name))
    if client_authority:
        context.load_verify_locations(cadata=client_authority.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    return context
