"""
User registry: the tokens and certificates that were issued to users, and which certificates are revoked.

The registry is one file that only its owner may read, and contains only digests of tokens. Writers lock the file; a
running server reloads it when it changes.
"""

import time
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple
from uuid import NAMESPACE_OID, uuid4, uuid5

import msgspec

from virtshape.apiserver.auth.privatefile import lock_file, read_private, write_private


class UserRegistryError(Exception):
    """The registry cannot be read; the message says how to fix this."""


class RegistryEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A token or certificate that was issued to a user; times are seconds since 1970."""

    name: str
    """The user's name."""
    kind: Literal["token", "certificate"]
    """The type of credential."""
    id: str
    """The digest of the token, or the serial number of the certificate."""
    groups: tuple[str, ...] = ()
    """The user's groups, without `system:authenticated`."""
    issued: float
    """When the credential was issued."""
    expires: float | None = None
    """When the credential expires; absent if the credential never expires."""
    role: str | None = None
    """The cluster role that was bound to the user, if any."""
    namespace: str | None = None
    """The namespace of the role binding; absent if it is cluster-wide."""
    revoked: bool = False
    """Whether the credential is revoked."""
    uid: str = ""
    """The user's UID; absent in registries of older releases."""

    @property
    def user_uid(self) -> str:
        """The user's UID; if no UID is stored, one is derived from the credential's ID."""
        return self.uid or str(uuid5(NAMESPACE_OID, self.id))


class _State(NamedTuple):
    stamp: tuple[int, int, int] | None
    entries: tuple[RegistryEntry, ...]
    by_token: dict[str, RegistryEntry]
    revoked: frozenset[str]


class UserRegistry:
    """The registry in one file."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._state = self._read()

    def find_token(self, token: str) -> RegistryEntry | None:
        """Return the entry for a token; None if the token is unknown or has expired."""
        entry = self._refresh().by_token.get(digest_token(token))
        return entry if entry is not None and not self._has_ended(entry) else None

    def is_revoked(self, serial: str) -> bool:
        """Return True if the certificate with this serial number is revoked."""
        return serial in self._refresh().revoked

    def entries(self) -> list[RegistryEntry]:
        """Return all entries that are neither expired nor revoked."""
        return [entry for entry in self._refresh().entries if not entry.revoked and not self._has_ended(entry)]

    def add(self, entry: RegistryEntry) -> None:
        """Add an entry, with the same UID as other entries of the user."""
        known = next((other.user_uid for other in self.entries() if other.name == entry.name), None)
        entry = msgspec.structs.replace(entry, uid=entry.uid or known or str(uuid4()))
        self._change(lambda entries: [*entries, entry])

    def remove(self, name: str) -> list[RegistryEntry]:
        """Revoke everything that was issued to a user; return the revoked entries."""
        removed = [entry for entry in self.entries() if entry.name == name]
        self._change(lambda entries: [left for entry in entries if (left := _revoke(entry, name)) is not None])
        return removed

    def _change(self, change: Callable[[Iterable[RegistryEntry]], list[RegistryEntry]]) -> None:
        with lock_file(self._path.with_name(f"{self._path.name}.lock")):
            entries = [entry for entry in change(self._refresh().entries) if not self._has_ended(entry)]
            write_private(self._path, msgspec.json.format(msgspec.json.encode(entries), indent=2) + b"\n")
            self._state = self._read()

    def _has_ended(self, entry: RegistryEntry) -> bool:
        return entry.expires is not None and entry.expires <= self._clock()

    def _refresh(self) -> _State:
        if _stamp(self._path) != self._state.stamp:
            self._state = self._read()
        return self._state

    def _read(self) -> _State:
        stamp = _stamp(self._path)
        if stamp is None:
            return _State(None, (), {}, frozenset())
        try:
            entries = msgspec.json.decode(read_private(self._path), type=tuple[RegistryEntry, ...])
        except msgspec.DecodeError as error:
            raise UserRegistryError(
                f"{self._path} is not a user registry ({error}): restore the file from a backup"
            ) from error
        return _State(
            stamp,
            entries,
            {entry.id: entry for entry in entries if entry.kind == "token"},
            frozenset(entry.id for entry in entries if entry.revoked),
        )


def digest_token(token: str) -> str:
    """Return the digest of a token. Tokens are long and random, so an unsalted digest is safe."""
    return sha256(token.encode()).hexdigest()


def _revoke(entry: RegistryEntry, name: str) -> RegistryEntry | None:
    if entry.name != name:
        return entry
    # A removed token is invalid, but a certificate stays valid until it is listed as revoked.
    return msgspec.structs.replace(entry, revoked=True) if entry.kind == "certificate" else None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return facts.st_mtime_ns, facts.st_ino, facts.st_size
