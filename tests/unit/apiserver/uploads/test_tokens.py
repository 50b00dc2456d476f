"""Tokens to upload with: good for what they say, for as long as they say, where they were issued."""

import re

import pytest

from virtshape.apiserver.uploads.tokens import Grant, TokenError, UploadTokens

GRANT = Grant(namespace="ns", name="c1", uid="u1", user="jane", groups=("team",), expires=1300.0)


def test_a_token_says_again_what_it_was_issued_for() -> None:
    tokens = UploadTokens()
    assert tokens.read(tokens.issue(GRANT), 1000.0) == GRANT


def test_a_token_has_only_characters_that_clients_and_proxies_take() -> None:
    assert re.fullmatch(r"[A-Za-z0-9\-._~+/]+", UploadTokens().issue(GRANT))


@pytest.mark.parametrize(("moment", "good"), [(1300.0, True), (1309.0, True), (1311.0, False)])
def test_a_token_ends_in_its_time_give_or_take_a_few_seconds(moment: float, good: bool) -> None:
    tokens = UploadTokens()
    token = tokens.issue(GRANT)
    if good:
        tokens.read(token, moment)
    else:
        with pytest.raises(TokenError, match="expired"):
            tokens.read(token, moment)


def test_a_token_of_somebody_else_or_a_changed_one_is_no_good() -> None:
    tokens = UploadTokens()
    token = tokens.issue(GRANT)
    body, _, seal = token.partition(".")
    other = UploadTokens().issue(GRANT)
    for wrong in (other, f"{body}x.{seal}", f"{body}.{seal[:-1]}", body, "", "a.b.c", "é.é"):
        with pytest.raises(TokenError, match="has not issued the token"):
            tokens.read(wrong, 1000.0)
