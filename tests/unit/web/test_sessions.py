import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import ClientCertificate, Credential, User
from virtshape.web.sessions import (
    CODE_SECONDS,
    MAX_CODES,
    MAX_CODES_OF_USER,
    MAX_SESSIONS,
    MAX_SESSIONS_OF_USER,
    SESSION_SECONDS,
    SealedCredentials,
    open_codes,
    open_sessions,
)
from virtshape.web.signin import FAILURE_SECONDS, MAX_FAILURES, MAX_PEERS, FailureLimit

START = 1_800_000_000.0
TOKEN = Credential("Bearer abc")


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def count(credentials: SealedCredentials, secrets: list[str]) -> int:
    return sum(credentials.find(secret) is not None for secret in secrets)


@pytest.mark.parametrize(
    "credential",
    [
        TOKEN,
        Credential(None, ClientCertificate(User("jane", ("dev",), "u1", {"a": ("b", "c")}), "0A", START + 60)),
    ],
    ids=["token", "certificate"],
)
def test_credential_of_a_session_is_found_by_the_session_secret(credential: Credential, clock: Clock) -> None:
    sessions = open_sessions(clock=clock)
    secret = sessions.add(credential, "jane").secret
    found = sessions.find(secret)
    assert found is not None
    assert (found.credential, found.expires) == (credential, START + SESSION_SECONDS)


@pytest.mark.parametrize("secret", ["", "x", "ä", "a" * 10_000])
def test_unknown_session_secret_returns_none(secret: str) -> None:
    assert open_sessions().find(secret) is None


def test_web_console_session_expires(clock: Clock) -> None:
    sessions = open_sessions(clock=clock)
    secret = sessions.add(TOKEN, "jane").secret
    clock.now += SESSION_SECONDS
    assert sessions.find(secret) is None


def test_session_expires_with_its_credential(clock: Clock) -> None:
    sessions = open_sessions(clock=clock)
    issued = sessions.add(TOKEN, "jane", START + 10)
    assert issued.expires == START + 10
    clock.now += 10
    assert sessions.find(issued.secret) is None


def test_one_time_code_can_be_used_only_once(clock: Clock) -> None:
    codes = open_codes(clock)
    code = codes.add(TOKEN, "jane").secret
    assert codes.take(code) is not None
    assert codes.take(code) is None


def test_one_time_code_expires(clock: Clock) -> None:
    codes = open_codes(clock)
    code = codes.add(TOKEN, "jane").secret
    clock.now += CODE_SECONDS
    assert codes.take(code) is None


@pytest.mark.parametrize(
    ("opened", "most", "most_of_user"),
    [(open_sessions, MAX_SESSIONS, MAX_SESSIONS_OF_USER), (open_codes, MAX_CODES, MAX_CODES_OF_USER)],
)
def test_number_of_sessions_and_one_time_codes_is_limited(
    opened: Callable[[], SealedCredentials], most: int, most_of_user: int
) -> None:
    credentials = opened()
    other = credentials.add(TOKEN, "other").secret
    own = [credentials.add(TOKEN, "jane").secret for _ in range(most_of_user + 3)]
    assert count(credentials, own[3:]) == most_of_user == count(credentials, own), "the user's oldest are dropped"
    assert credentials.find(other) is not None, "those of other users stay"
    for number in range(most + 5):
        credentials.add(TOKEN, f"user{number}")
    assert len(credentials) == most


def test_expired_sessions_are_removed(clock: Clock) -> None:
    sessions = open_sessions(clock=clock)
    for number in range(5):
        sessions.add(TOKEN, f"user{number}")
    clock.now += SESSION_SECONDS
    sessions.add(TOKEN, "jane")
    assert len(sessions) == 1


def test_session_file_contains_no_secrets(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    secret = open_sessions(path).add(TOKEN, "jane").secret
    found = open_sessions(path).find(secret)
    assert found is not None
    assert found.credential == TOKEN
    stored = path.read_text()
    assert not any(text in stored for text in (secret, "abc", "jane"))
    assert path.stat().st_mode & 0o077 == 0


def test_ended_session_is_removed_from_the_session_file(tmp_path: Path) -> None:
    sessions = open_sessions(tmp_path / "sessions.json")
    secret = sessions.add(TOKEN, "jane").secret
    sessions.remove(secret)
    assert open_sessions(tmp_path / "sessions.json").find(secret) is None


def test_sessions_can_be_added_if_the_session_file_is_unreadable(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "sessions.json"
    path.write_text("{broken")
    with caplog.at_level(logging.ERROR):
        sessions = open_sessions(path)
    assert "must sign in again" in caplog.text
    assert sessions.find(sessions.add(TOKEN, "jane").secret) is not None


def test_session_is_usable_if_its_file_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sessions = open_sessions(tmp_path / "file" / "sessions.json")
    (tmp_path / "file").write_text("not a directory")
    with caplog.at_level(logging.ERROR):
        secret = sessions.add(TOKEN, "jane").secret
    assert "cannot write" in caplog.text
    assert "abc" not in caplog.text
    assert sessions.find(secret) is not None


def test_failed_sign_ins_from_one_address_are_limited_for_a_time(clock: Clock) -> None:
    limit = FailureLimit(clock)
    for _ in range(MAX_FAILURES):
        limit.require("10.0.0.1")
        limit.note("10.0.0.1")
    with pytest.raises(StatusError) as refused:
        limit.require("10.0.0.1")
    assert (refused.value.code, refused.value.details.retry_after_seconds) == (429, 61)
    limit.require("10.0.0.2")
    clock.now += FAILURE_SECONDS
    limit.require("10.0.0.1")
    limit.note("10.0.0.1")
    limit.require("10.0.0.1")


def test_failed_sign_ins_are_forgotten_after_the_clock_was_set_back(clock: Clock) -> None:
    limit = FailureLimit(clock)
    for _ in range(MAX_FAILURES):
        limit.note("10.0.0.1")
    clock.now -= 3600
    limit.require("10.0.0.1")
    for _ in range(MAX_FAILURES):
        limit.note("10.0.0.1")
    with pytest.raises(StatusError):
        limit.require("10.0.0.1")


def test_number_of_addresses_with_recorded_sign_in_failures_is_limited(clock: Clock) -> None:
    limit = FailureLimit(clock)
    for _ in range(MAX_FAILURES):
        limit.note("first")
    for number in range(MAX_PEERS):
        limit.note(f"peer{number}")
    limit.require("first")
