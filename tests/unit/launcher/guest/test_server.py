import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from virtshape.launcher.controlprotocol import Answer, Request, Status, Watch, format_line, parse_answer
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.guest.server import ControlServer
from virtshape.launcher.report import Report


class Client:
    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(240)
        self._socket.connect(str(path))
        self._stream = self._socket.makefile("rwb")

    def send(self, line: bytes) -> None:
        self._stream.write(line)
        self._stream.flush()

    def read(self) -> Answer | None:
        line = self._stream.readline()
        return parse_answer(line) if line else None

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="serving-") as name:  # socket paths must be short
        yield Path(name)


def answer(request: Request) -> Answer:
    if isinstance(request, Status):
        return Answer(report=Report(state="running"))
    raise RuntimeError("no way")


def test_control_socket_answers_each_line_and_reports_invalid_requests(directory: Path) -> None:
    serving = ControlServer(directory / "control.sock", ReportPublisher(directory / "report.json", Report()), answer)
    client = Client(directory / "control.sock")
    client.send(format_line(Status()))
    assert client.read() == Answer(report=Report(state="running"))
    for line, message in (
        (b"what?\n", "invalid request: "),
        (b'{"ask":"dance"}\n', "invalid request: Invalid value 'dance'"),
        (b'{"ask":"pause"}\n', "the launcher process failed: RuntimeError('no way')"),
    ):
        client.send(line)
        answered = client.read()
        assert answered is not None
        assert answered.error.startswith(message)
    serving.close()
    assert client.read() is None
    client.close()
    assert not (directory / "control.sock").exists()


def test_watchers_of_the_control_socket_get_every_report(directory: Path) -> None:
    reports = ReportPublisher(directory / "report.json", Report())
    serving = ControlServer(directory / "control.sock", reports, answer)
    client = Client(directory / "control.sock")
    client.send(format_line(Watch()))
    assert client.read() == Answer(report=Report())
    reports.publish(state="running")
    assert client.read() == Answer(report=Report(state="running"))
    reports.publish(state="succeeded")
    serving.close()
    assert client.read() == Answer(report=Report(state="succeeded"))
    assert client.read() is None
    client.close()


def test_control_socket_is_accessible_by_its_owner_only(directory: Path) -> None:
    path = directory / "control.sock"
    path.touch()
    serving = ControlServer(path, ReportPublisher(directory / "report.json", Report()), answer)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    serving.close()
