"""HTTP request parsing, including bytes after an upgrade request."""

import asyncio

import pytest

from virtshape.api.status import StatusError
from virtshape.apiserver.message import Request
from virtshape.apiserver.parsing import Client, RequestReader

GET = b"GET /%b HTTP/1.1\r\nhost: x\r\n\r\n"
UPGRADE = b"GET /%b HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"


class RecordingParser:
    """Records the requests that a parser finds."""

    def __init__(self, *, answers_at_once: bool = False) -> None:
        self.requests: list[Request] = []
        self.refusals: list[StatusError] = []
        self.invited = 0
        self._answers_at_once = answers_at_once
        self.reader = RequestReader(Client("1.2.3.4"), self._take, self.refusals.append, self._invite)

    def _take(self, request: Request, keep_alive: bool) -> None:
        del keep_alive
        self.requests.append(request)
        if self._answers_at_once:
            self.reader.release()

    def _invite(self) -> None:
        self.invited += 1

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_http_requests_are_parsed_from_chunks_of_any_size(size: int) -> None:
    taken = RecordingParser()
    data = GET % b"a" + GET % b"b"
    for at in range(0, len(data), size):
        taken.reader.feed(data[at : at + size])
    assert taken.paths == ["/a", "/b"]
    assert taken.requests[0].peer == "1.2.3.4"


def test_parsing_stops_after_an_upgrade_request() -> None:
    taken = RecordingParser()
    taken.reader.feed(GET % b"a" + UPGRADE % b"b" + GET % b"c")
    taken.reader.feed(GET % b"d")
    assert (taken.paths, taken.reader.is_holding()) == (["/a", "/b"], True)
    assert taken.requests[1].wants_websocket
    taken.reader.release()
    assert (taken.paths, taken.reader.is_holding()) == (["/a", "/b", "/c", "/d"], False)
    taken.reader.release()
    assert len(taken.requests) == 4


def test_bytes_after_an_upgrade_belong_to_the_new_protocol() -> None:
    taken = RecordingParser()
    taken.reader.feed(UPGRADE % b"a" + b"\x82\x85")
    taken.reader.feed(b"more")
    assert (taken.reader.take_rest(), taken.reader.take_rest()) == (b"\x82\x85more", b"")


def test_requests_after_refused_upgrades_are_read() -> None:
    taken = RecordingParser(answers_at_once=True)
    taken.reader.feed(UPGRADE % b"a" * 3000)
    assert len(taken.requests) == 3000


@pytest.mark.parametrize("header", [b"content-length: 3", b"transfer-encoding: chunked"])
def test_upgrade_request_with_body_is_rejected(header: bytes) -> None:
    taken = RecordingParser()
    taken.reader.feed((UPGRADE % b"a").replace(b"\r\n\r\n", b"\r\n" + header + b"\r\n\r\nabc"))
    taken.reader.feed(GET % b"b")
    assert [error.code for error in taken.refusals] == [501]
    assert taken.requests == []


def test_request_with_an_expect_header_gets_100_continue() -> None:
    taken = RecordingParser()
    taken.reader.feed(b"POST /a HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
    assert taken.invited == 1
    taken.reader.feed(b"{}")
    assert taken.requests[0].body == b"{}"


@pytest.mark.parametrize(
    ("upgrade", "connection", "wanted"),
    [
        ("websocket", "Upgrade", True),
        ("WebSocket", "keep-alive, upgrade", True),
        ("h2c", "Upgrade", False),
        ("websocket", "keep-alive", False),
        ("", "", False),
    ],
)
def test_websocket_upgrade_request_is_recognized(upgrade: str, connection: str, wanted: bool) -> None:
    assert Request("GET", "/", {"upgrade": upgrade, "connection": connection}).wants_websocket is wanted


UPLOAD = b"POST /v1beta1/upload-async HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n%b\r\n"
HUGE = 1 << 40


async def test_upload_request_is_passed_on_before_its_body_is_complete() -> None:
    taken = RecordingParser()
    taken.reader.feed(UPLOAD % (6, b"") + b"abc")
    (request,) = taken.requests
    assert (request.body, request.is_arriving) == (b"", True)
    assert request.incoming is not None
    assert await request.incoming.read() == b"abc"
    taken.reader.feed(b"def" + GET % b"next")
    assert (await request.incoming.read(), request.is_arriving) == (b"def", False)
    assert taken.paths == ["/v1beta1/upload-async", "/next"]


async def test_upload_has_no_size_limit_and_gets_100_continue_on_first_read() -> None:
    taken = RecordingParser()
    taken.reader.feed(UPLOAD % (HUGE, b"expect: 100-continue\r\n"))
    (request,) = taken.requests
    assert (taken.refusals, taken.invited) == ([], 0)
    assert request.incoming is not None
    reading = asyncio.create_task(request.incoming.read())
    await asyncio.sleep(0)
    assert taken.invited == 1
    taken.reader.feed(b"x")
    assert await reading == b"x"


@pytest.mark.parametrize("line", [b"PUT /v1beta1/upload-async", b"POST /v1beta1/upload-everything", b"POST /api"])
def test_requests_other_than_uploads_have_a_size_limit(line: bytes) -> None:
    taken = RecordingParser()
    taken.reader.feed(line + b" HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % HUGE)
    assert [error.code for error in taken.refusals] == [413]
