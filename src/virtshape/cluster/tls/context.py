"""
TLS contexts that can be replaced while a socket listens: each new connection uses the current context.

Python loads certificates with keys only from files; the temporary files here are private and removed at once.
"""

import ssl
import tempfile
from pathlib import Path
from typing import Any


class ReloadableContext:
    """A TLS context for a listener, which switches each new connection to the current context."""

    def __init__(self, first: ssl.SSLContext) -> None:
        self._current = first
        self.outer = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.outer.minimum_version = first.minimum_version
        self.outer.verify_mode = first.verify_mode
        self.outer.set_alpn_protocols(["http/1.1"])
        self.outer.sni_callback = self._switch  # also called for clients without SNI

    def change(self, context: ssl.SSLContext) -> None:
        """Use another context for new connections; its `verify_mode` has no effect."""
        self._current = context

    def _switch(self, connection: Any, name: str | None, outer: ssl.SSLContext) -> None:
        del name, outer
        connection.context = self._current


def build_context(certificate: bytes, key: bytes, client_authority: bytes = b"") -> ssl.SSLContext:
    """Return a server context with this certificate, which accepts client certificates from the given CA, if any."""
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
