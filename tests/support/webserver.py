"""A configurable web server on loopback that can misbehave."""

import contextlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Request:
    """A request that a server received."""

    def __init__(self, path: str, headers: dict[str, str]) -> None:
        self.path = path
        self.headers = headers


class Response:
    """A response; `breaks_after` closes the connection after this many bytes of the body."""

    def __init__(self, body: bytes = b"", status: int = 200, breaks_after: int | None = None, **headers: str) -> None:
        self.body = body
        self.status = status
        self.breaks_after = breaks_after
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


Respond = Callable[[Request], Response]


class Server:
    """A running server and the requests it received."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.url = f"http://{address}"
        self.requests: list[Request] = []

    def list_headers(self, name: str) -> list[str | None]:
        return [request.headers.get(name) for request in self.requests]


def serve_file(content: bytes, etag: str = '"v1"') -> Respond:
    """Return a handler that serves this content and supports range requests."""

    def respond(request: Request) -> Response:
        found = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        if not found or request.headers.get("If-Range") != etag:
            return Response(content, ETag=etag)
        start = int(found[1])
        if start >= len(content):
            return Response(status=416)
        return Response(
            content[start:], 206, ETag=etag, Content_Range=f"bytes {start}-{len(content) - 1}/{len(content)}"
        )

    return respond


def respond_in_turn(*responses: Respond | Response) -> Respond:
    """Return a handler that sends the responses in order, and the last one for all further requests."""
    waiting = list(responses)

    def respond(request: Request) -> Response:
        response = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return response if isinstance(response, Response) else response(request)

    return respond


@contextmanager
def serve(respond: Respond) -> Iterator[Server]:
    """Run a server until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            request = Request(self.path, {name.title(): value for name, value in self.headers.items()})
            running.requests.append(request)
            answer = respond(request)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # a client may disconnect before it has read everything
                self.wfile.write(answer.body[: answer.breaks_after])
            if answer.breaks_after is not None:
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ARG002 - as in http.server
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        running = Server(f"127.0.0.1:{server.server_address[1]}")
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        server.shutdown()
