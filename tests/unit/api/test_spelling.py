"""Suggestions for misspelled names."""

import pytest

from virtshape.api.spelling import quote, suggest

KNOWN = ("cores", "sockets", "threads", "maxSockets")


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        pytest.param("socket", ', did you mean "sockets"?', id="a missing letter"),
        pytest.param("MAXSOCKETS", ', did you mean "maxSockets"?', id="another case"),
        pytest.param("memory", "", id="no similar name"),
        pytest.param("s" * 61, "", id="a name that is too long to compare"),
    ],
)
def test_most_similar_name_is_suggested(name: str, suggested: str) -> None:
    assert suggest(name, KNOWN) == suggested


def test_long_text_is_truncated_in_quotes() -> None:
    assert (quote("a" * 60), quote("a" * 61)) == (f'"{"a" * 60}"', f'"{"a" * 60}…"')
