import pytest

from virtshape.api.status import StatusError
from virtshape.apiserver.listoptions import (
    DEFAULT_WATCH_SECONDS,
    MAX_WATCH_SECONDS,
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
def test_continue_token_round_trips(namespaced: bool) -> None:
    last = Key("pods", "a", "b")
    token = format_continuation(42, last, namespaced=namespaced)
    assert parse_continuation(token, "pods", "a" if namespaced else "") == (42, last)


@pytest.mark.parametrize(
    "token", ["garbage", "", "e30", "eyJ2IjoxfQ", "é", format_continuation(0, Key("", "", "a"), namespaced=True)]
)
def test_invalid_continue_token_is_rejected(token: str) -> None:
    with pytest.raises(StatusError) as refusal:
        parse_continuation(token, "pods", "")
    assert (refusal.value.code, refusal.value.reason) == (400, "BadRequest")


@pytest.mark.parametrize(("text", "revision"), [("", 0), ("0", 0), ("42", 42)])
def test_resource_version_is_parsed(text: str, revision: int) -> None:
    assert read_revision(text) == revision


@pytest.mark.parametrize("text", ["-1", "1.5", "x", " 1", "1_0", "٣"])
def test_invalid_resource_version_is_rejected(text: str) -> None:
    with pytest.raises(StatusError):
        read_revision(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("", DEFAULT_WATCH_SECONDS), ("0", DEFAULT_WATCH_SECONDS), ("5", 5.0), ("9" * 18, MAX_WATCH_SECONDS)],
)
def test_watch_timeout_is_limited(text: str, seconds: float) -> None:
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
def test_all_invalid_combinations_of_list_options_are_reported(query: str, watch: bool, fields: list[str]) -> None:
    with pytest.raises(StatusError) as refusal:
        read(query, watch=watch)
    assert (refusal.value.code, [cause.field for cause in refusal.value.causes]) == (422, fields)
