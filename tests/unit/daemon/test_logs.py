"""Log format, level and content."""

import json
import logging
import sys
from collections.abc import Awaitable, Iterator

import pytest

from virtshape.apiserver.http import AnyResponse
from virtshape.apiserver.message import Request, Response
from virtshape.daemon.logs import is_access_logged, log_requests, set_up_logs


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_log_lines_start_with_the_time_in_utc(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("info", "text")
    logging.getLogger("virtshape.x").info("hello %s", "there")
    time, level, name, message = capsys.readouterr().err.split(maxsplit=3)
    assert time.endswith("Z")
    assert (level, name, message) == ("INFO", "virtshape.x:", "hello there\n")


def test_json_log_records_contain_fields_and_tracebacks(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("info", "json")
    try:
        int("no")
    except ValueError:
        logging.getLogger("x").exception("it failed", extra={"facts": {"number": 3}})
    line = json.loads(capsys.readouterr().err)
    assert (line["level"], line["message"], line["number"]) == ("error", "it failed", 3)
    assert "ValueError: invalid literal" in line["traceback"]


def test_records_below_the_level_are_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("warning", "text")
    logging.getLogger("x").info("hello")
    assert capsys.readouterr().err == ""
    assert not is_access_logged()


async def test_requests_are_logged_with_their_responses(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("debug", "json")
    assert is_access_logged()

    async def answer_later() -> AnyResponse:
        return Response(201, b"")

    def handle(request: Request) -> AnyResponse | Awaitable[AnyResponse]:
        return Response(200, b"") if request.method == "GET" else answer_later()

    logged = log_requests(handle)
    answer = logged(Request("GET", "/version?timeout=5s", {"user-agent": "kubectl"}, peer="127.0.0.1"))
    assert isinstance(answer, Response)
    later = logged(Request("POST", "/api/v1/namespaces", {"authorization": "Bearer secret"}))
    assert isinstance(later, Awaitable)

    async def wait() -> AnyResponse:
        return await later

    assert (await wait()).status == 201
    text = capsys.readouterr().err
    first, second = (json.loads(line) for line in text.splitlines())
    assert (first["method"], first["target"], first["status"], first["agent"], first["peer"]) == (
        "GET",
        "/version?timeout=5s",
        200,
        "kubectl",
        "127.0.0.1",
    )
    assert (second["method"], second["status"]) == ("POST", 201)
    assert "secret" not in text


def test_logs_go_to_the_current_standard_error() -> None:
    set_up_logs("info", "text")
    (handler,) = logging.getLogger().handlers
    assert isinstance(handler, logging.StreamHandler)
    assert handler.stream is sys.stderr
