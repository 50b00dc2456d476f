"""
How to reach a server, whom to trust, and who is asking: what a kubeconfig comes down to.

Only data and how it is shown to a server; where it comes from is not known here.
"""

import ssl
import tempfile
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from virtshape.client.errors import ConfigError


class Identity(Struct, frozen=True):
    """A client certificate with its key, both as PEM."""

    certificate: bytes
    key: bytes


class Credentials(Struct, frozen=True):
    """What someone shows to be let in."""

    token: str = ""
    identity: Identity | None = None
    basic: tuple[str, str] | None = None

    def headers(self) -> list[tuple[str, str]]:
        """The headers that show it."""
        if self.token:
            return [("authorization", f"Bearer {self.token}")]
        if self.basic is not None:
            return [("authorization", f"Basic {b64encode(':'.join(self.basic).encode()).decode()}")]
        return []


class CredentialSource(Protocol):
    """Where a secret comes from, and comes from again when it has ended."""

    async def fetch(self) -> Credentials:
        """The secret as it is now; ConfigError if there is none to be had."""

    def invalidate(self) -> bool:
        """Note that the server refused it; whether asking again may help."""


class StaticCredentials:
    """A secret that never changes."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def fetch(self) -> Credentials:
        """The secret."""
        return self._credentials

    def invalidate(self) -> bool:
        """Whether asking again may help: never."""
        return False


class Impersonation(Struct, frozen=True):
    """Whom to act as."""

    user: str = ""
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = {}

    def headers(self) -> list[tuple[str, str]]:
        """The headers that say so."""
        headers = [("impersonate-user", self.user), ("impersonate-uid", self.uid)]
        headers += [("impersonate-group", group) for group in self.groups]
        headers += [(f"impersonate-extra-{key}", value) for key, values in self.extra.items() for value in values]
        return [(name, value) for name, value in headers if value]


class Access(Struct, frozen=True):
    """One server as one user sees it; `authority` is PEM, and the system's authorities count where it is empty."""

    server: str
    credentials: CredentialSource = StaticCredentials(Credentials())
    authority: bytes = b""
    insecure: bool = False
    server_name: str = ""
    namespace: str = "default"
    acting_as: Impersonation = Impersonation()
    proxy: str = ""
    """The proxy that leads to the server; it is reached directly where there is none."""


def build_context(access: Access, identity: Identity | None) -> ssl.SSLContext:
    """The TLS settings for a server, with the client's certificate if there is one."""
    try:
        context = ssl.create_default_context(cadata=access.authority.decode() or None)
        if access.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if identity is not None:
            _load(context, identity)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise ConfigError(f"a certificate or key for {access.server} is no good: {error}") from error
    return context


def _load(context: ssl.SSLContext, identity: Identity) -> None:
    # ssl reads certificates from files alone; this one is its owner's, and gone at once.
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(identity.certificate + b"\n" + identity.key)
        file.flush()
        context.load_cert_chain(Path(file.name))
