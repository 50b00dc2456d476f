"""Log format, level and content."""

import contextvars
import json
import logging
import sys
from collections.abc import Awaitable, Iterator

import pytest

from virtshape.apiserver.message import CURRENT_REQUEST, AnyResponse, Request, Response
from virtshape.client.cache import ObjectKey
from virtshape.controllers.runtime.loop import CURRENT_RECONCILE, Reconciled
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


def test_log_records_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
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


def test_logs_are_written_to_the_current_standard_error() -> None:
    set_up_logs("info", "text")
    (handler,) = logging.getLogger().handlers
    assert isinstance(handler, logging.StreamHandler)
    assert handler.stream is sys.stderr


def log_in_context(request: Request | None = None, reconciled: Reconciled | None = None) -> None:
    def log() -> None:
        CURRENT_REQUEST.set(request)
        CURRENT_RECONCILE.set(reconciled)
        logging.getLogger("x").warning("it failed: %s", ValueError("no"))

    contextvars.copy_context().run(log)


FIELDS = {
    "request": (
        Request("GET", "/apis/kubevirt.io/v1/namespaces/a/virtualmachines/b", {"audit-id": "r1"}),
        None,
        {"request_id": "r1", "object": "a/b"},
    ),
    "request for an action": (
        Request("PUT", "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachines/b/start", {"audit-id": "r2"}),
        None,
        {"request_id": "r2", "object": "a/b"},
    ),
    "request for another path": (Request("GET", "/version", {"audit-id": "r3"}), None, {"request_id": "r3"}),
    "reconcile": (None, Reconciled("vm", ObjectKey("a", "b")), {"controller": "vm", "object": "a/b"}),
    "neither": (None, None, {}),
}


@pytest.mark.parametrize(("request_", "reconciled", "expected"), FIELDS.values(), ids=FIELDS.keys())
def test_json_log_records_contain_the_request_the_object_and_the_error(
    request_: Request | None,
    reconciled: Reconciled | None,
    expected: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up_logs("info", "json", "controller")
    log_in_context(request_, reconciled)
    line = json.loads(capsys.readouterr().err)
    names = ("component", "request_id", "controller", "object", "error")
    assert {name: line[name] for name in names if name in line} == {
        "component": "controller",
        "error": "no",
        **expected,
    }


def test_object_in_the_arguments_of_a_log_record_is_a_json_field(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("info", "json")
    logging.getLogger("x").info("VM %s is started", ObjectKey("a", "b"))
    line = json.loads(capsys.readouterr().err)
    assert (line["object"], line["message"], "component" in line) == ("a/b", "VM a/b is started", False)


def test_text_log_lines_of_a_request_end_with_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("info", "text")
    log_in_context(Request("GET", "/version", {"audit-id": "r1"}))
    log_in_context()
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("it failed: no request_id=r1")
    assert second.endswith("it failed: no")
