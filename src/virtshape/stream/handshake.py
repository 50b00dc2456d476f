"""WebSocket handshake headers: keys, versions and subprotocols."""

import binascii
import secrets
from base64 import b64decode, b64encode, urlsafe_b64decode
from collections.abc import Iterable
from hashlib import sha1
from typing import Final

PLAIN: Final = "plain.kubevirt.io"
"""KubeVirt's subprotocol for streams: raw bytes in binary messages."""
BEARER: Final = "base64url.bearer.authorization.k8s.io."
"""Prefix of an offered subprotocol that carries a bearer token, for browsers, which cannot set headers."""
VERSION: Final = "13"

_SALT: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def make_key() -> str:
    """Return a random key for the handshake of a new WebSocket."""
    return b64encode(secrets.token_bytes(16)).decode()


def build_upgrade_headers(key: str, protocol: str = PLAIN) -> dict[str, str]:
    """Return the request headers for a WebSocket with this subprotocol."""
    return {
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec-websocket-version": VERSION,
        "sec-websocket-key": key,
        "sec-websocket-protocol": protocol,
    }


def is_key(text: str) -> bool:
    """Return True if the text is a valid key: sixteen bytes in base64."""
    try:
        return len(b64decode(text, validate=True)) == 16
    except (binascii.Error, ValueError):
        return False


def accept_key(key: str) -> str:
    """Return the Sec-WebSocket-Accept value for a key."""
    return b64encode(sha1((key + _SALT).encode(), usedforsecurity=False).digest()).decode()


def split_list(text: str) -> list[str]:
    """Return the members of a comma-separated header."""
    return [part.strip() for part in text.split(",") if part.strip()]


def find_bearer(offers: Iterable[str]) -> str | None:
    """
    Return the bearer token among the subprotocols, or None if there is no valid one.

    Exactly one token must be offered, together with at least one other subprotocol.
    """
    offers = list(offers)
    tokens = [offer.removeprefix(BEARER) for offer in offers if offer.startswith(BEARER)]
    if len(tokens) != 1 or len(offers) < 2:
        return None
    try:
        return urlsafe_b64decode(tokens[0] + "=" * (-len(tokens[0]) % 4)).decode() or None
    except (binascii.Error, ValueError):
        return None
