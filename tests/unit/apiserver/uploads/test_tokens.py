"""Upload tokens are valid for one claim, for a limited time, on the server that issued them."""

import re

import msgspec
import pytest
from jwt import PyJWS

from virtshape.apiserver.auth.tokens import TokenError
from virtshape.apiserver.uploads.tokens import Grant, UploadTokens

GRANT = Grant(namespace="ns", name="c1", uid="u1", user="jane", groups=("team",), expires=1300.0)


def test_upload_token_round_trips() -> None:
    tokens = UploadTokens()
    assert tokens.read(tokens.issue(GRANT), 1000.0) == GRANT


def test_upload_token_has_only_bearer_token_characters() -> None:
    assert re.fullmatch(r"[A-Za-z0-9\-._~+/]+", UploadTokens().issue(GRANT))


@pytest.mark.parametrize(("moment", "good"), [(1300.0, True), (1309.0, True), (1311.0, False)])
def test_upload_token_expires(moment: float, good: bool) -> None:
    tokens = UploadTokens()
    token = tokens.issue(GRANT)
    if good:
        tokens.read(token, moment)
    else:
        with pytest.raises(TokenError, match="expired"):
            tokens.read(token, moment)


def test_modified_upload_token_or_one_from_another_server_is_rejected() -> None:
    tokens = UploadTokens()
    token = tokens.issue(GRANT)
    head, body, seal = token.split(".")
    other = UploadTokens().issue(GRANT)
    unsigned = PyJWS().encode(msgspec.json.encode(GRANT), "", None)
    modified = (f"{head}x.{body}.{seal}", f"{head}.{body}x.{seal}", f"{head}.{body}.{seal[:-1]}", f"{head}.{body}")
    for wrong in (other, unsigned, *modified, body, "", "a.b", "a.b.c", "é.é", "é.é.é"):
        with pytest.raises(TokenError, match="was not issued since this server started"):
            tokens.read(wrong, 1000.0)


def test_too_long_upload_token_is_rejected() -> None:
    with pytest.raises(TokenError, match="more than 16384 characters"):
        UploadTokens().read("a" * 20_000, 1000.0)
