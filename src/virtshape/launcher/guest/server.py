"""
The control socket of a launcher process: one JSON line per request and answer, one thread per connection.

The server executes watch and connect requests itself and passes all other requests to the handler.
"""

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Callable
from io import BufferedRWPair
from pathlib import Path
from typing import Final

from virtshape.launcher.controlprotocol import Answer, Connect, Request, Watch, format_line, parse_request
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.threads import start_thread

MAX_LINE_BYTES: Final = 65536
HEARTBEAT_SECONDS: Final = 30.0
"""How often to check whether watchers are still connected."""
DRAIN_SECONDS: Final = 1.0
_log = logging.getLogger(__name__)


class ControlServer:
    """Serves the control socket; `answer` is the current request handler."""

    def __init__(self, path: Path, reports: ReportPublisher, answer: Callable[[Request], Answer]) -> None:
        self.answer = answer
        self.connect: Callable[[Connect], socket.socket] = _refuse_connection
        """Opens connections to the guest once it runs."""
        self._reports = reports
        self._path = path
        self._socket = _listen(path)
        self._connections: dict[socket.socket, threading.Thread] = {}
        start_thread(self._accept, "accepting requests", field="status", notes=reports)

    def close(self) -> None:
        """Stop accepting connections and wait for pending answers."""
        self._path.unlink(missing_ok=True)
        for connection, thread in list(self._connections.items()):
            with contextlib.suppress(OSError):  # the client has already disconnected
                connection.shutdown(socket.SHUT_RD)
            thread.join(DRAIN_SECONDS)

    def _accept(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            threading.Thread(target=self._serve, args=(connection,), name="request", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self._connections[connection] = threading.current_thread()
        try:
            with connection, connection.makefile("rwb") as stream:
                while line := stream.readline(MAX_LINE_BYTES):
                    self._handle(line, stream, connection)
        except OSError:  # the client has disconnected
            pass
        finally:
            del self._connections[connection]

    def _handle(self, line: bytes, stream: BufferedRWPair, connection: socket.socket) -> None:
        try:
            request = parse_request(line)
        except ValueError as error:
            return _send(stream, Answer(error=f"invalid request: {error}"))
        try:
            if isinstance(request, Watch):
                return self._watch(stream, connection)
            if isinstance(request, Connect):
                return self._pass_connection(request, stream, connection)
            answer = self.answer(request)
        except Exception as error:
            if isinstance(error, OSError) and isinstance(request, Watch | Connect):  # the client has disconnected
                raise
            _log.exception("request %s failed; returning the error to the client", type(request).__name__)
            answer = Answer(error=f"the launcher process failed: {error!r}")
        return _send(stream, answer)

    def _pass_connection(self, request: Connect, stream: BufferedRWPair, connection: socket.socket) -> None:
        try:
            with self.connect(request) as found:
                socket.send_fds(connection, [format_line(Answer())], [found.fileno()])
        except OSError as error:
            _send(stream, Answer(error=str(error)))

    def _watch(self, stream: BufferedRWPair, connection: socket.socket) -> None:
        for report in self._reports.watch(HEARTBEAT_SECONDS):
            if report is not None:
                _send(stream, Answer(report=report))
            elif _is_closed(connection):
                return


def _listen(path: Path) -> socket.socket:
    """Listen on a socket that only this user can connect to; replace the socket of an earlier process."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old_mask = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(old_mask)
    listener.listen()
    return listener


def _refuse_connection(request: Connect) -> socket.socket:
    del request
    raise ConnectionError("the guest has not started yet")


def _send(stream: BufferedRWPair, answer: Answer) -> None:
    stream.write(format_line(answer))
    stream.flush()


def _is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
