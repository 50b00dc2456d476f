"""
Upload tokens: each valid for one claim and a few minutes.

The signing key lives as long as this process; after a restart clients must request a new token.
"""

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import msgspec

SECONDS: Final = 300
"""How long a token can start an upload; the upload itself may take longer."""
LEEWAY_SECONDS: Final = 10


class TokenError(Exception):
    """An invalid token, and why."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What a token allows, and who requested it."""

    namespace: str
    name: str
    uid: str
    """The UID of the claim, or of the DataVolume that will create it."""
    user: str
    groups: tuple[str, ...] = ()
    expires: float
    """Seconds since 1970."""


class UploadTokens:
    """Issues and verifies tokens."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def issue(self, grant: Grant) -> str:
        """Return a token for a grant."""
        body = urlsafe_b64encode(msgspec.json.encode(grant)).rstrip(b"=")
        return f"{body.decode()}.{self._seal(body)}"

    def read(self, token: str, now: float) -> Grant:
        """Return the grant of a token; raise TokenError if it is not valid now."""
        text, _, seal = token.partition(".")
        body = text.encode()
        if not hmac.compare_digest(seal.encode(), self._seal(body).encode()):
            raise TokenError("this server has not issued the token since it started: request a new one")
        grant = msgspec.json.decode(urlsafe_b64decode(body + b"=" * (-len(body) % 4)), type=Grant)
        if grant.expires + LEEWAY_SECONDS <= now:
            raise TokenError("the token has expired")
        return grant

    def _seal(self, body: bytes) -> str:
        return hmac.digest(self._key, body, "sha256").hex()
