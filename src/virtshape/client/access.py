"""Address, TLS settings and credentials of a server, as resolved from a kubeconfig."""

import asyncio
import ssl
import tempfile
import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from virtshape.client.errors import ConfigError

KEPT_SECONDS: Final = 10.0


class Identity(Struct, frozen=True):
    """A client certificate with its key, both as PEM."""

    certificate: bytes
    key: bytes


class Credentials(Struct, frozen=True):
    """A bearer token or basic authentication, and a client certificate; each is optional."""

    token: str = ""
    identity: Identity | None = None
    basic: tuple[str, str] | None = None

    def headers(self) -> list[tuple[str, str]]:
        """Return the Authorization header, if any."""
        if self.token:
            return [("authorization", f"Bearer {self.token}")]
        if self.basic is not None:
            return [("authorization", f"Basic {b64encode(':'.join(self.basic).encode()).decode()}")]
        return []


class CredentialSource(Protocol):
    """Provides credentials; sources of credentials that expire also renew them."""

    async def fetch(self) -> Credentials:
        """Return the current credentials; raise ConfigError if no credentials are available."""

    def invalidate(self) -> bool:
        """Drop the credentials, which the server rejected; return True if `fetch` may return different credentials."""


class StaticCredentials:
    """Credentials that never change."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def fetch(self) -> Credentials:
        """Return the credentials."""
        return self._credentials

    def invalidate(self) -> bool:
        """Return False: `fetch` always returns the same credentials."""
        return False


class TokenFile:
    """A token in a file that another program updates, such as kubelet in a pod; the file is read every few seconds."""

    def __init__(self, path: Path, identity: Identity | None = None) -> None:
        self._path = path
        self._identity = identity
        self._credentials: Credentials | None = None
        self._read_at = 0.0

    async def fetch(self) -> Credentials:
        """Return the token from the file, cached for a short time; raise ConfigError if the file cannot be read."""
        if self._credentials is None or time.monotonic() - self._read_at > KEPT_SECONDS:
            try:
                text = await asyncio.to_thread(self._path.read_text)
            except OSError as error:
                raise ConfigError(f"{self._path} cannot be read: {error}") from error
            self._credentials, self._read_at = Credentials(text.strip(), self._identity), time.monotonic()
        return self._credentials

    def invalidate(self) -> bool:
        """Drop the token; return True, because the file may contain a new one."""
        self._credentials = None
        return True


class Impersonation(Struct, frozen=True):
    """The user, groups and extra fields to impersonate."""

    user: str = ""
    uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = {}

    def headers(self) -> list[tuple[str, str]]:
        """Return the impersonation headers."""
        headers = [("impersonate-user", self.user), ("impersonate-uid", self.uid)]
        headers += [("impersonate-group", group) for group in self.groups]
        headers += [(f"impersonate-extra-{key}", value) for key, values in self.extra.items() for value in values]
        return [(name, value) for name, value in headers if value]


class Access(Struct, frozen=True):
    """
    The address, TLS settings and credentials to access one server as one user.

    `authority` contains CA certificates in PEM; if it is empty, the system's certificates are used.
    """

    server: str
    credentials: CredentialSource = StaticCredentials(Credentials())
    authority: bytes = b""
    insecure: bool = False
    server_name: str = ""
    namespace: str = "default"
    acting_as: Impersonation = Impersonation()
    proxy: str = ""
    """The proxy to connect through; empty to connect directly."""


def build_context(access: Access, identity: Identity | None) -> ssl.SSLContext:
    """Return the TLS context for a server and client certificate; raise ConfigError if a certificate is invalid."""
    try:
        context = ssl.create_default_context(cadata=access.authority.decode() or None)
        if access.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if identity is not None:
            _load(context, identity)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise ConfigError(f"invalid certificate or key for {access.server}: {error}") from error
    return context


def _load(context: ssl.SSLContext, identity: Identity) -> None:
    # The ssl module loads certificates only from files; this file is private to its owner and deleted immediately.
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(identity.certificate + b"\n" + identity.key)
        file.flush()
        context.load_cert_chain(Path(file.name))
