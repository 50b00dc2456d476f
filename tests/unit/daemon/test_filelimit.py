import resource

import pytest

from virtshape.apiserver.listener import MAX_CONNECTIONS
from virtshape.daemon.filelimit import MAX_FILES, count_connections, raise_file_limit

UNLIMITED = resource.RLIM_INFINITY


class Limits:
    """The soft and the hard limit of open files, instead of those of this process."""

    def __init__(self, soft: int, hard: int) -> None:
        self.now = soft, hard

    def get(self, _: int) -> tuple[int, int]:
        return self.now

    def set(self, _: int, limits: tuple[int, int]) -> None:
        self.now = limits


@pytest.mark.parametrize(
    ("files", "connections"),
    [(100, 50), (1024, 512), (4096, 3584), (MAX_FILES, MAX_CONNECTIONS), (UNLIMITED, MAX_CONNECTIONS)],
)
def test_some_open_files_are_reserved(monkeypatch: pytest.MonkeyPatch, files: int, connections: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", Limits(files, files).get)
    assert count_connections() == connections


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [(1024, 4096, 4096), (1024, UNLIMITED, MAX_FILES), (UNLIMITED, UNLIMITED, UNLIMITED), (200, 200, 200)],
)
def test_limit_of_open_files_is_raised_to_the_hard_limit(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, raised: int
) -> None:
    limits = Limits(soft, hard)
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)
    raise_file_limit()
    assert limits.now == (raised, hard)
