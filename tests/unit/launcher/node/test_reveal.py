"""Making paths visible to a confined process while it runs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.unit.launcher.node.test_confinement import needs_mounts, needs_root

from virtshape.launcher.node.account import GUEST_USER, Account
from virtshape.launcher.node.confinement import Confinement
from virtshape.launcher.node.reveal import hide, reveal

ACCOUNT = Account(GUEST_USER, GUEST_USER)
READ = """
import sys
from pathlib import Path
import msgspec
from virtshape.launcher.node import confinement
confinement.confine(msgspec.json.decode(sys.argv[1], type=confinement.Confinement))
print("confined", flush=True)
for line in sys.stdin:
    try:
        print(Path(line.strip()).read_text(), flush=True)
    except OSError as error:
        print(error.strerror, flush=True)
"""


class ConfinedReader:
    """A confined process that reads files on request and prints their content."""

    def __init__(self, reach: Path) -> None:
        text = msgspec.json.encode(Confinement(account=ACCOUNT, reach=(str(reach),))).decode()
        self.process = subprocess.Popen(
            [sys.executable, "-c", READ, text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._read_line() == "confined"

    def read(self, path: Path) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        return self._read_line()

    def _read_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A directory that only root may enter, with the directories `first` and `second`, and a file `disk`."""
    place = tmp_path / "closed"
    for name in ("first", "second"):
        (place / name).mkdir(parents=True)
        (place / name / "file").write_text(name)
    (place / "disk").write_text("disk")
    place.chmod(0o700)
    return place


@pytest.fixture
def reader(closed: Path) -> Iterator[ConfinedReader]:
    started = ConfinedReader(closed / "first")
    yield started
    started.process.kill()
    started.process.communicate()


@needs_root
@needs_mounts
@pytest.mark.parametrize(("path", "file"), [("second", "second/file"), ("disk", "disk")], ids=["directory", "file"])
def test_revealed_path_is_visible_until_it_is_hidden(
    closed: Path, reader: ConfinedReader, path: str, file: str
) -> None:
    shown = closed / path
    assert reader.read(closed / "first/file") == "first"
    assert reader.read(closed / file) == "No such file or directory"
    for _ in range(2):  # a hidden path can be shown again
        reveal(reader.process.pid, shown, ACCOUNT)
        reveal(reader.process.pid, shown, ACCOUNT)
        assert reader.read(closed / file) == path
        hide(reader.process.pid, shown, ACCOUNT)
        assert reader.read(closed / file) != path
    assert sorted(one.name for one in closed.iterdir()) == ["disk", "first", "second"], "the host must not change"


@needs_root
@needs_mounts
def test_revealing_a_path_does_not_follow_links(closed: Path, reader: ConfinedReader) -> None:
    (closed / "link").symlink_to("disk")
    with pytest.raises(OSError, match="symbolic links"):
        reveal(reader.process.pid, closed / "link", ACCOUNT)
    assert reader.read(closed / "link") == "No such file or directory"


@needs_root
@needs_mounts
def test_revealing_a_path_to_an_exited_process_is_an_error(closed: Path, reader: ConfinedReader) -> None:
    reader.process.kill()
    reader.process.wait()
    with pytest.raises(OSError, match="No such"):
        reveal(reader.process.pid, closed / "second", ACCOUNT)


def test_process_of_the_same_user_can_access_all_paths(closed: Path) -> None:
    own = Account(os.geteuid(), os.getegid())
    reveal(os.getpid(), closed / "second", own)
    hide(os.getpid(), closed / "second", own)
    assert (closed / "second" / "file").read_text() == "second"
