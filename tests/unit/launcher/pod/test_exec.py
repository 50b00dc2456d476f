"""Commands that clients run in a launcher pod."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from virtshape.launcher.controlprotocol import Answer, SetMemory, SetVcpus, format_line, parse_answer, parse_request
from virtshape.launcher.layout import Layout
from virtshape.launcher.pod.exec import resize


class Launcher:
    """A fake launcher process that records every request and refuses it."""

    def __init__(self, path: Path) -> None:
        self.requests: list[object] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection, connection.makefile("rb") as reader:
                line = reader.readline()
                if not line:
                    return
                self.requests.append(parse_request(line))
                connection.sendall(format_line(Answer(error=f"refused {len(self.requests)}")))

    def close(self, path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(str(path))
        self._thread.join()
        self._listener.close()


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


@pytest.fixture
def launcher(layout: Layout) -> Iterator[Launcher]:
    running = Launcher(layout.socket)
    yield running
    running.close(layout.socket)


def test_resize_sets_vcpus_and_memory_and_returns_all_errors(layout: Layout, launcher: Launcher) -> None:
    assert parse_answer(resize(layout, 3, 1024)).error == "refused 1; refused 2"
    assert launcher.requests == [SetVcpus(count=3), SetMemory(size=1024)]


def test_resize_changes_only_sizes_other_than_0(layout: Layout, launcher: Launcher) -> None:
    assert parse_answer(resize(layout, 0, 1024)).error == "refused 1"
    assert launcher.requests == [SetMemory(size=1024)]
