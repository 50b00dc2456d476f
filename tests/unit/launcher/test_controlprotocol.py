import pytest

from virtshape.launcher.controlprotocol import (
    Answer,
    Connect,
    Kill,
    Request,
    SetVcpus,
    Stop,
    format_line,
    parse_answer,
    parse_request,
)
from virtshape.launcher.report import Report


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        pytest.param(b'{"ask":"kill"}\n', Kill(), id="no member"),
        pytest.param(b'{"ask":"stop","grace":2.5}\n', Stop(grace=2.5), id="one member"),
        pytest.param(
            b'{"ask":"connect","port":22,"protocol":"tcp","interface":""}\n', Connect(port=22), id="omitted members"
        ),
        pytest.param(b'{"ask":"set_vcpus","count":4}\n', SetVcpus(count=4), id="name of two words"),
    ],
)
def test_control_requests_are_lines_of_json(line: bytes, request_: Request) -> None:
    assert parse_request(line) == request_
    assert format_line(request_) == line


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b'{"ask":"dance"}',
        b'{"ask":"stop","grace":-1}',
        b'{"ask":"connect","port":0}',
        b'{"ask":"kill","x":1}',
    ],
)
def test_invalid_control_request_is_rejected(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_request(line)


def test_control_answers_are_lines_of_json() -> None:
    answer = Answer(error="no", report=Report(state="running"))
    assert format_line(answer) == b'{"error":"no","report":{"state":"running"}}\n'
    assert parse_answer(format_line(answer)) == answer
