"""
Tokens to upload with: each good for one claim, for a few minutes, and for nothing else.

Sealed with a key that lives as long as this process; whoever comes with one after a restart asks for another.
"""

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import msgspec

SECONDS: Final = 300
"""How long a token is good for: to begin an upload, which may then take as long as it takes."""
LEEWAY_SECONDS: Final = 10


class TokenError(Exception):
    """A token that is not good, and why."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """What a token allows, and who asked for it."""

    namespace: str
    name: str
    uid: str
    """The uid of the claim, or of the DataVolume that is to make it."""
    user: str
    groups: tuple[str, ...] = ()
    expires: float
    """Seconds since 1970."""


class UploadTokens:
    """Issues tokens, and knows its own again."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def issue(self, grant: Grant) -> str:
        """A token that says this."""
        body = urlsafe_b64encode(msgspec.json.encode(grant)).rstrip(b"=")
        return f"{body.decode()}.{self._seal(body)}"

    def read(self, token: str, now: float) -> Grant:
        """What a token says, if we issued it and it is good now; TokenError otherwise."""
        text, _, seal = token.partition(".")
        body = text.encode()
        if not hmac.compare_digest(seal.encode(), self._seal(body).encode()):
            raise TokenError("the token is none that was issued here since the server started")
        grant = msgspec.json.decode(urlsafe_b64decode(body + b"=" * (-len(body) % 4)), type=Grant)
        if grant.expires + LEEWAY_SECONDS <= now:
            raise TokenError("the token has expired")
        return grant

    def _seal(self, body: bytes) -> str:
        return hmac.digest(self._key, body, "sha256").hex()
