import pytest

from virtshape.api.status import StatusError
from virtshape.apiserver.listoptions import (
    DEFAULT_WATCH_SECONDS,
    LONGEST_WATCH_SECONDS,
    format_continuation,
    parse_continuation,
    read_options,
    read_revision,
)
from virtshape.apiserver.message import Request
from virtshape.store.record import Key


def read(query: str, *, watch: bool = False) -> object:
    return read_options(Request("GET", f"/api/v1/pods?{query}", {}), watch=watch)


@pytest.mark.parametrize("namespaced", [True, False])
def test_a_continuation_is_read_as_it_was_written(namespaced: bool) -> None:
    last = Key("pods", "a", "b")
    token = format_continuation(42, last, namespaced=namespaced)
    assert parse_continuation(token, "pods", "a" if namespaced else "") == (42, last)


@pytest.mark.parametrize(
    "token", ["garbage", "", "e30", "eyJ2IjoxfQ", "é", format_continuation(0, Key("", "", "a"), namespaced=True)]
)
def test_what_is_no_continuation_is_refused(token: str) -> None:
    with pytest.raises(StatusError) as refusal:
        parse_continuation(token, "pods", "")
    assert (refusal.value.code, refusal.value.reason) == (400, "BadRequest")


@pytest.mark.parametrize(("text", "revision"), [("", 0), ("0", 0), ("42", 42)])
def test_revisions_are_numbers(text: str, revision: int) -> None:
    assert read_revision(text) == revision


@pytest.mark.parametrize("text", ["-1", "1.5", "x", " 1", "1_0", "٣"])
def test_other_texts_are_no_revisions(text: str) -> None:
    with pytest.raises(StatusError):
        read_revision(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("", DEFAULT_WATCH_SECONDS), ("0", DEFAULT_WATCH_SECONDS), ("5", 5.0), ("9" * 18, LONGEST_WATCH_SECONDS)],
)
def test_a_watch_lasts_as_long_as_asked_for_within_reason(text: str, seconds: float) -> None:
    options = read_options(Request("GET", f"/?timeoutSeconds={text}" if text else "/", {}), watch=True)
    assert options.timeout_seconds == seconds


@pytest.mark.parametrize(
    ("query", "watch", "fields"),
    [
        ("resourceVersionMatch=Exact", False, ["resourceVersionMatch"]),
        ("resourceVersionMatch=Exact&resourceVersion=0", False, ["resourceVersionMatch"]),
        ("resourceVersionMatch=Exact&resourceVersion=1&continue=x", False, ["resourceVersionMatch"]),
        ("resourceVersionMatch=odd", False, ["resourceVersionMatch", "resourceVersionMatch"]),
        ("sendInitialEvents=true", False, ["sendInitialEvents"]),
        ("sendInitialEvents=true", True, ["resourceVersionMatch"]),
        ("resourceVersionMatch=Exact&resourceVersion=1", True, ["resourceVersionMatch", "resourceVersionMatch"]),
        ("resourceVersionMatch=NotOlderThan&sendInitialEvents=1&continue=x", True, ["resourceVersionMatch"]),
    ],
)
def test_all_that_makes_no_sense_together_is_told_at_once(query: str, watch: bool, fields: list[str]) -> None:
    with pytest.raises(StatusError) as refusal:
        read(query, watch=watch)
    assert (refusal.value.code, [cause.field for cause in refusal.value.causes]) == (422, fields)
