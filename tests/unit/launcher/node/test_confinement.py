"""Confinement of processes: visible paths and, if run as root, the access of a confined process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.skipping import IMPOSSIBLE

from virtshape.launcher.node.account import GUEST_USER, Account
from virtshape.launcher.node.confinement import Confinement, find_closed_directory

LOOK = """
import json, os, sys
from pathlib import Path
from virtshape.launcher.node import confinement
import msgspec
try:
    confinement.confine(msgspec.json.decode(sys.argv[1], type=confinement.Confinement))
except confinement.ConfinementError as error:
    print(json.dumps({"error": str(error)}))
    sys.exit()
seen = {}
for name in sys.argv[2:]:
    path = Path(name)
    try:
        seen[path.name] = sorted(os.listdir(path)) if path.is_dir() else path.read_text()
    except OSError as error:
        seen[path.name] = error.strerror
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
keys = {"user": os.getresuid(), "groups": os.getgroups(), "privileges": status["NoNewPrivs"].strip()}
print(json.dumps({"seen": seen, **keys}))
"""

OBSTACLE = """
import json
from virtshape.launcher.node.confinement import find_mount_obstacle
print(json.dumps(find_mount_obstacle()))
"""


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop its privileges")
CAN_MOUNT = subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode == 0  # noqa: S607
needs_mounts = pytest.mark.skipif(not CAN_MOUNT, reason=f"{IMPOSSIBLE}mounting needs CAP_SYS_ADMIN")


def inspect_paths(confinement: Confinement, *paths: Path, without: str = "") -> dict[str, Any]:
    """Return what a confined process can read at these paths; `without` names a capability that it lacks."""
    text = msgspec.json.encode(confinement).decode()
    dropped = ["setpriv", f"--bounding-set=-{without}", f"--inh-caps=-{without}"] if without else []
    command = [*dropped, sys.executable, "-c", LOOK, text, *map(str, paths)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seen: dict[str, Any] = json.loads(printed)
    return seen


def find_mount_error(*, without: str = "") -> str:
    """Return the error of a mount, or "" if it succeeds; `without` names a capability that the process lacks."""
    dropped = ["setpriv", f"--bounding-set=-{without}", f"--inh-caps=-{without}"] if without else []
    command = [*dropped, sys.executable, "-c", OBSTACLE]
    found: str = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A directory with files, inside a directory that only its owner may enter."""
    place = tmp_path / "closed" / "deeper"
    place.mkdir(parents=True)
    place.parent.chmod(0o700)
    for name in ("needed", "private"):
        (place / name).mkdir()
        (place / name / "file").write_text(name)
    (place / "image").write_text("image")
    return place


def test_first_inaccessible_parent_directory_is_found(closed: Path) -> None:
    other = Account(os.geteuid() + 1, 1)
    directory = find_closed_directory(closed / "needed" / "file", other)
    assert directory is not None
    assert closed.is_relative_to(directory)
    assert find_closed_directory(Path("/usr/bin"), other) is None


@needs_root
@needs_mounts
def test_confined_process_has_access_only_to_the_given_paths_of_a_private_directory(closed: Path) -> None:
    account = Account(GUEST_USER, GUEST_USER)
    reach = (str(closed / "needed"), str(closed / "image"), str(closed / "nothing"))
    seen = inspect_paths(
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
def test_confinement_needs_no_mounts_if_all_paths_are_accessible() -> None:
    account = Account(GUEST_USER, GUEST_USER)
    seen = inspect_paths(Confinement(account=account, reach=("/usr/share",)), Path("/root"), without="sys_admin")
    assert seen["seen"] == {"root": "Permission denied"}


@needs_root
def test_mounts_of_a_confined_process_fail_without_cap_sys_admin(closed: Path) -> None:
    account = Account(GUEST_USER, GUEST_USER)
    seen = inspect_paths(Confinement(account=account, reach=(str(closed / "needed"),)), without="sys_admin")
    assert seen == {"error": "unshare the mount namespace: Operation not permitted"}


@needs_root
def test_process_without_mounts_can_traverse_but_not_list_private_directories(closed: Path) -> None:
    account = Account(GUEST_USER, GUEST_USER)
    (closed / "private").chmod(0o700)
    confinement = Confinement(account=account, reach=(str(closed / "needed"),), mounts=False)
    seen = inspect_paths(
        confinement, closed / "needed" / "file", closed.parent, closed / "private" / "file", without="sys_admin"
    )
    assert seen["seen"] == {"file": "Permission denied", "closed": "Permission denied"}
    assert inspect_paths(confinement, closed / "needed" / "file", without="sys_admin")["seen"] == {"file": "needed"}
    assert seen["user"] == [GUEST_USER] * 3
    stranger = Confinement(account=Account(GUEST_USER + 1, GUEST_USER + 1), mounts=False)
    assert inspect_paths(stranger, closed / "needed" / "file")["seen"] == {"file": "Permission denied"}


@needs_root
@needs_mounts
@pytest.mark.parametrize(("without", "expected"), [("", ""), ("sys_admin", "Operation not permitted")])
def test_probe_for_mount_errors_does_not_change_the_mounts_of_the_machine(without: str, expected: str) -> None:
    before = Path("/proc/self/mountinfo").read_text()
    assert expected in find_mount_error(without=without)
    assert bool(find_mount_error(without=without)) == bool(expected)
    assert Path("/proc/self/mountinfo").read_text() == before


@needs_root
@needs_mounts
def test_mounts_of_a_confined_process_work_in_a_chroot(tmp_path: Path) -> None:
    """In a chroot, / is not a mount point; the test builds a root with the system's directories."""
    root = tmp_path / "root"
    for name in ("usr", "lib", "lib64", "bin", "proc", "dev", "etc", "root", "tmp"):
        if Path("/", name).is_symlink():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).symlink_to(Path("/", name).readlink())
        else:
            (root / name).mkdir(parents=True)
    program = {sys.prefix, sys.base_prefix, str(Path(__file__).parents[4])}
    script = [f"mount --rbind /{name} {root}/{name}" for name in ("usr", "lib", "lib64", "bin", "proc", "dev", "etc")]
    script = [line for line in script if not (root / line.rsplit("/", 1)[1]).is_symlink()]
    script += [f"mkdir -p {root}{path} && mount --rbind {path} {root}{path}" for path in sorted(program)]
    command = [
        "unshare",
        "--mount",
        "--propagation",
        "slave",
        "sh",
        "-ec",
        "\n".join([*script, 'exec chroot "$@"']),
        "sh",
    ]
    printed = subprocess.run(
        [*command, str(root), sys.executable, "-c", OBSTACLE], check=True, capture_output=True, text=True
    ).stdout
    assert json.loads(printed) == ""


@needs_root
def test_report_of_a_failed_confinement_does_not_follow_links(closed: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("original")
    directory = tmp_path / "guest"
    directory.mkdir()
    for name in ("report.json", "report.draft"):
        (directory / name).symlink_to(victim)
    confinement = Confinement(account=Account(user=GUEST_USER, group=GUEST_USER), reach=(str(closed / "image"),))
    arguments = [msgspec.json.encode(confinement).decode(), "none", str(directory)]
    dropped = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    program = [sys.executable, "-m", "virtshape.launcher.node.confinement"]
    ended = subprocess.run([*dropped, *program, *arguments], check=False, capture_output=True, text=True)
    assert ended.returncode == 1, ended.stderr
    assert victim.read_text() == "original"
    assert not (directory / "report.json").is_symlink()
    assert json.loads((directory / "report.json").read_text())["reason"] == "NotStarted"
