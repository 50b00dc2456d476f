"""Upload tokens are valid for one claim, for a limited time, on the server that issued them."""

import re

import pytest

from virtshape.apiserver.uploads.tokens import Grant, TokenError, UploadTokens

GRANT = Grant(namespace="ns", name="c1", uid="u1", user="jane", groups=("team",), expires=1300.0)


def test_token_round_trips() -> None:
    tokens = UploadTokens()
    assert tokens.read(tokens.issue(GRANT), 1000.0) == GRANT


def test_token_has_only_bearer_token_characters() -> None:
    assert re.fullmatch(r"[A-Za-z0-9\-._~+/]+", UploadTokens().issue(GRANT))


@pytest.mark.parametrize(("moment", "good"), [(1300.0, True), (1309.0, True), (1311.0, False)])
def test_token_expires(moment: float, good: bool) -> None:
    tokens = UploadTokens()
    token = tokens.issue(GRANT)
    if good:
        tokens.read(token, moment)
    else:
        with pytest.raises(TokenError, match="expired"):
            tokens.read(token, moment)


def test_foreign_or_modified_token_is_rejected() -> None:
    tokens = UploadTokens()
    token = tokens.issue(GRANT)
    body, _, seal = token.partition(".")
    other = UploadTokens().issue(GRANT)
    for wrong in (other, f"{body}x.{seal}", f"{body}.{seal[:-1]}", body, "", "a.b.c", "é.é"):
        with pytest.raises(TokenError, match="has not issued the token"):
            tokens.read(wrong, 1000.0)
