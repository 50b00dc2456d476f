"""Tokens in files that are rotated externally, such as a pod's service account token."""

import asyncio
import time
from pathlib import Path
from typing import Final

from virtshape.client.access import Credentials, Identity
from virtshape.client.errors import ConfigError

KEPT_SECONDS: Final = 10.0


class TokenFile:
    """A token that is read again every few seconds."""

    def __init__(self, path: Path, identity: Identity | None = None) -> None:
        self._path = path
        self._identity = identity
        self._credentials: Credentials | None = None
        self._read_at = 0.0

    async def fetch(self) -> Credentials:
        """Return the token from the file, cached for a short time."""
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
