"""
How a request for a WebSocket is made and answered: keys, versions, subprotocols.

Only the texts in headers; no sockets.
"""

import binascii
import secrets
from base64 import b64decode, b64encode, urlsafe_b64decode
from collections.abc import Iterable
from hashlib import sha1
from typing import Final

PLAIN: Final = "plain.kubevirt.io"
"""The subprotocol of all streams: bytes as they are, in binary messages."""
BEARER: Final = "base64url.bearer.authorization.k8s.io."
"""How an offer begins that is no subprotocol but a token; browsers can set no other header."""
VERSION: Final = "13"

_SALT: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def make_key() -> str:
    """A key for a new request."""
    return b64encode(secrets.token_bytes(16)).decode()


def ask_for_socket(key: str, protocol: str = PLAIN) -> dict[str, str]:
    """The headers of a request for a WebSocket that speaks a subprotocol."""
    return {
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec-websocket-version": VERSION,
        "sec-websocket-key": key,
        "sec-websocket-protocol": protocol,
    }


def is_key(text: str) -> bool:
    """Whether a text is a key: sixteen bytes in base 64."""
    try:
        return len(b64decode(text, validate=True)) == 16
    except (binascii.Error, ValueError):
        return False


def answer_key(key: str) -> str:
    """What a server answers to a key, to show that it knows what it is asked for."""
    return b64encode(sha1((key + _SALT).encode(), usedforsecurity=False).digest()).decode()


def split_list(text: str) -> list[str]:
    """The members of a header that is a list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def find_bearer(offers: Iterable[str]) -> str | None:
    """The token among the subprotocols that a client offers; none if it is garbled or has no real one beside it."""
    offers = list(offers)
    tokens = [offer.removeprefix(BEARER) for offer in offers if offer.startswith(BEARER)]
    if len(tokens) != 1 or len(offers) < 2:
        return None
    try:
        return urlsafe_b64decode(tokens[0] + "=" * (-len(tokens[0]) % 4)).decode() or None
    except (binascii.Error, ValueError):
        return None
