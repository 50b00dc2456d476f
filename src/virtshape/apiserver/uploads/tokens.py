"""
Upload tokens: JSON Web Tokens, each valid for one claim and a few minutes.

The signing key is not stored; after a restart of the server, clients must request a new token.
"""

import secrets
from typing import Final

import msgspec
from jwt import PyJWS
from jwt.exceptions import PyJWTError

from virtshape.apiserver.auth.tokens import MAX_TOKEN_CHARACTERS, TokenError

SECONDS: Final = 300
"""How long a token can start an upload; the upload itself may take longer."""
LEEWAY_SECONDS: Final = 10
_ALGORITHM: Final = "HS256"


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """The claim that a token is valid for, and the user who requested the token."""

    namespace: str
    name: str
    uid: str
    """The UID of the claim, or of the DataVolume that will create it."""
    user: str
    groups: tuple[str, ...] = ()
    expires: float
    """When the token expires, in seconds since 1970."""


class UploadTokens:
    """Issues and verifies tokens."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._signatures = PyJWS([_ALGORITHM])

    def issue(self, grant: Grant) -> str:
        """Return a token for a grant."""
        return self._signatures.encode(msgspec.json.encode(grant), self._key, _ALGORITHM)

    def read(self, token: str, now: float) -> Grant:
        """Return the grant in a token; raise TokenError if the token is not valid now."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise TokenError(f"the token has more than {MAX_TOKEN_CHARACTERS} characters")
        try:
            body = self._signatures.decode(token, self._key, [_ALGORITHM])
        except (PyJWTError, ValueError) as error:
            raise TokenError("the token was not issued since this server started: request a new one") from error
        grant = msgspec.json.decode(body, type=Grant)
        if grant.expires + LEEWAY_SECONDS <= now:
            raise TokenError("the token has expired")
        return grant
