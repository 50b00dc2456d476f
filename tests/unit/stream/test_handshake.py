"""WebSocket handshake headers: keys, lists and bearer tokens."""

from base64 import urlsafe_b64encode

import pytest

from virtshape.stream.handshake import (
    BEARER,
    PLAIN,
    accept_key,
    build_upgrade_headers,
    find_bearer,
    is_key,
    make_key,
    split_list,
)


def test_websocket_accept_key_matches_the_example_in_rfc_6455() -> None:
    assert accept_key("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def test_generated_websocket_keys_are_unique_and_valid() -> None:
    keys = {make_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(is_key(key) for key in keys)
    assert build_upgrade_headers("k")["sec-websocket-key"] == "k"


@pytest.mark.parametrize("text", ["", "short", "dGhlIHNhbXBsZSBub25jZ", "ü" * 24, "dGhlIHNhbXBsZSBub25jZSE="])
def test_invalid_websocket_keys_are_rejected(text: str) -> None:
    assert not is_key(text)


@pytest.mark.parametrize(("text", "parts"), [("", []), ("a", ["a"]), (" a ,b,, c", ["a", "b", "c"])])
def test_comma_separated_header_is_split(text: str, parts: list[str]) -> None:
    assert split_list(text) == parts


def _offer(token: str) -> str:
    return BEARER + urlsafe_b64encode(token.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("offers", "token"),
    [
        ([_offer("abc"), PLAIN], "abc"),
        ([PLAIN, _offer("abcd")], "abcd"),
        ([_offer("abc")], None),
        ([_offer("abc"), _offer("abc")], None),
        ([PLAIN], None),
        ([], None),
        ([BEARER, PLAIN], None),
        ([f"{BEARER}_____w", PLAIN], None),
    ],
    ids=[
        "token first",
        "token last",
        "only a token",
        "only two tokens",
        "no token",
        "no offers",
        "empty token",
        "token is not UTF-8",
    ],
)
def test_bearer_token_must_be_offered_once_with_another_subprotocol(offers: list[str], token: str | None) -> None:
    assert find_bearer(offers) == token
