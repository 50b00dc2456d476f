"""
Sessions and one-time codes: the client holds a random secret instead of its credential.

The credential is encrypted with a key derived from the secret, and the server keeps only a digest of the secret, so
neither its memory nor the file of sessions contains tokens, codes or cookies.
"""

import logging
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import Final, NamedTuple

import msgspec
from cryptography.fernet import Fernet

from virtshape.apiserver.auth.authentication import Credential
from virtshape.apiserver.auth.privatefile import read_private, write_private

SESSION_SECONDS: Final = 8 * 3600.0
CODE_SECONDS: Final = 300.0
MAX_SESSIONS: Final = 1000
MAX_SESSIONS_OF_USER: Final = 20
MAX_CODES: Final = 100
MAX_CODES_OF_USER: Final = 10

_log = logging.getLogger(__name__)


class Opened(NamedTuple):
    """The credential that a secret represents, and the expiry of the secret in seconds since 1970."""

    credential: Credential
    expires: float


class Issued(NamedTuple):
    """A new secret, and its expiry in seconds since 1970."""

    secret: str
    expires: float


class _Record(msgspec.Struct, frozen=True):
    """An encrypted credential, the digest of its owner's name and its expiry."""

    sealed: bytes
    owner: str
    expires: float


class SealedCredentials:
    """Encrypted credentials, each with its own secret; if `path` is set, they are also stored in a file."""

    def __init__(
        self,
        seconds: float,
        most: int,
        most_of_user: int,
        *,
        path: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._seconds = seconds
        self._most = most
        self._most_of_user = most_of_user
        self._path = path
        self._clock = clock
        self._records = self._load()

    def __len__(self) -> int:
        return len(self._records)

    def add(self, credential: Credential, user: str, expires: float | None = None) -> Issued:
        """
        Store a user's credential, at most until it expires; return a new secret that represents the credential.

        If there are too many credentials, the oldest are dropped.
        """
        now = self._clock()
        owner = sha256(user.encode()).hexdigest()
        secret = token_urlsafe(32)
        ends = now + self._seconds if expires is None else min(now + self._seconds, expires)
        sealed = Fernet(_derive_key(secret)).encrypt(msgspec.json.encode(credential))
        self._records = {key: record for key, record in self._records.items() if record.expires > now}
        own = [key for key, record in self._records.items() if record.owner == owner]
        for key in own[: max(len(own) - self._most_of_user + 1, 0)]:
            del self._records[key]
        while len(self._records) >= self._most:
            del self._records[next(iter(self._records))]
        self._records[_digest(secret)] = _Record(sealed, owner, ends)
        self._save()
        return Issued(secret, ends)

    def find(self, secret: str) -> Opened | None:
        """Return the credential of a secret, or None if the secret is unknown or has expired."""
        record = self._records.get(_digest(secret))
        if record is None or record.expires <= self._clock():
            return None
        opened = Fernet(_derive_key(secret)).decrypt(record.sealed)
        return Opened(msgspec.json.decode(opened, type=Credential), record.expires)

    def take(self, secret: str) -> Opened | None:
        """Remove a secret and return its credential, or None if the secret is unknown or has expired."""
        found = self.find(secret)
        self.remove(secret)
        return found

    def remove(self, secret: str) -> None:
        """Remove a secret, if it is known."""
        if self._records.pop(_digest(secret), None) is not None:
            self._save()

    def _save(self) -> None:
        if self._path is None:
            return
        try:
            write_private(self._path, msgspec.json.encode(self._records))
        except OSError as error:
            _log.error("cannot write %s: %s; sessions will end when the server stops", self._path, error)

    def _load(self) -> dict[str, _Record]:
        if self._path is None or not self._path.exists():
            return {}
        try:
            return msgspec.json.decode(read_private(self._path), type=dict[str, _Record])
        except (OSError, msgspec.DecodeError) as error:
            _log.error("cannot read %s: %s; users of the web console must sign in again", self._path, error)
            return {}


def open_sessions(path: Path | None = None, clock: Callable[[], float] = time.time) -> SealedCredentials:
    """Return the sessions of browsers."""
    return SealedCredentials(SESSION_SECONDS, MAX_SESSIONS, MAX_SESSIONS_OF_USER, path=path, clock=clock)


def open_codes(clock: Callable[[], float] = time.time) -> SealedCredentials:
    """Return the one-time codes for signing in."""
    return SealedCredentials(CODE_SECONDS, MAX_CODES, MAX_CODES_OF_USER, clock=clock)


def _digest(secret: str) -> str:
    return sha256(f"id:{secret}".encode()).hexdigest()


def _derive_key(secret: str) -> bytes:
    return urlsafe_b64encode(sha256(f"key:{secret}".encode()).digest())
