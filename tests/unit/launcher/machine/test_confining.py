"""Confinement: what it needs to open, and, for root, what a process can do that went through it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from virtshape.launcher.machine.account import GUEST_USER, Account
from virtshape.launcher.machine.confining import Confinement, find_gate

LOOK = """
import json, os, sys
from pathlib import Path
from virtshape.launcher.machine import confining
import msgspec
if sys.argv[2] == "forbidden":
    confining._libc.unshare = lambda flags: -1
try:
    confining.confine(msgspec.json.decode(sys.argv[1], type=confining.Confinement))
except confining.ConfinementError as error:
    print(json.dumps({"error": str(error)}))
    sys.exit()
seen = {}
for name in sys.argv[3:]:
    path = Path(name)
    try:
        seen[path.name] = sorted(os.listdir(path)) if path.is_dir() else path.read_text()
    except OSError as error:
        seen[path.name] = error.strerror
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
keys = {"user": os.getresuid(), "groups": os.getgroups(), "privileges": status["NoNewPrivs"].strip()}
print(json.dumps({"seen": seen, **keys}))
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its rights")


def look(confinement: Confinement, *paths: Path, namespaces: str = "allowed") -> dict[str, Any]:
    """What a process sees of these paths once it is confined."""
    text = msgspec.json.encode(confinement).decode()
    command = [sys.executable, "-c", LOOK, text, namespaces, *map(str, paths)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seen: dict[str, Any] = json.loads(printed)
    return seen


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A directory that only its owner may enter, with things in it."""
    place = tmp_path / "closed" / "deeper"
    place.mkdir(parents=True)
    place.parent.chmod(0o700)
    for name in ("needed", "private"):
        (place / name).mkdir()
        (place / name / "file").write_text(name)
    (place / "image").write_text("image")
    return place


def test_the_gate_is_the_first_directory_that_is_closed(closed: Path) -> None:
    other = Account(os.geteuid() + 1, 1)
    gate = find_gate(closed / "needed" / "file", other)
    assert gate is not None
    assert closed.is_relative_to(gate)
    assert find_gate(Path("/usr/bin"), other) is None


@needs_root
def test_a_process_reaches_what_it_needs_behind_a_closed_door_and_nothing_else(closed: Path) -> None:
    account = Account(GUEST_USER, GUEST_USER)
    reach = (str(closed / "needed"), str(closed / "image"), str(closed / "nothing"))
    seen = look(
        Confinement(account=account, reach=reach), closed / "needed" / "file", closed, closed / "image", Path("/root")
    )
    assert seen == {
        "seen": {
            "file": "needed",
            "deeper": ["image", "needed"],
            "image": "image",
            "root": "Permission denied",
        },
        "user": [GUEST_USER] * 3,
        "groups": [],
        "privileges": "1",
    }
    assert sorted(one.name for one in closed.iterdir()) == ["image", "needed", "private"]


@needs_root
def test_nothing_is_covered_where_every_door_is_open() -> None:
    account = Account(GUEST_USER, GUEST_USER)
    seen = look(Confinement(account=account, reach=("/usr/share",)), Path("/root"), namespaces="forbidden")
    assert seen["seen"] == {"root": "Permission denied"}


@needs_root
def test_where_namespaces_are_not_allowed_words_say_what_to_do(closed: Path) -> None:
    account = Account(GUEST_USER, GUEST_USER)
    seen = look(Confinement(account=account, reach=(str(closed / "needed"),)), namespaces="forbidden")
    assert "is closed to others" in seen["error"]
    assert "mount namespaces are not allowed here" in seen["error"]
    assert "Choose a data directory that everybody can enter" in seen["error"]
