"""`tools/fresh/check.sh`: a machine that cannot be checked is an error in CI, and only reported elsewhere."""

import os
import re
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "fresh" / "check.sh"
PROGRAMS = ("id", "mmdebstrap", "unshare", "setpriv", "chroot", "apt-config", "apt-get", "git")
MAKE_ROOT = """
mkdir -p "$HOME/root/etc/ssl/certs"
for word; do case $word in */root.tar) tar -cf "$word" -C "$HOME/root" . ;; esac; done
"""
"""A stub of mmdebstrap that creates an empty root file system."""


def run_check(directory: Path, *cases: str, in_ci: bool = True, **failing: str) -> "subprocess.CompletedProcess[str]":
    """Run the script with stubs for the programs that need root; `failing` maps names of stubs to other scripts."""
    programs = directory / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        text = failing.get(name.replace("-", "_"), "echo 0" if name == "id" else "true")
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(directory), "CI": "true" if in_ci else ""}
    return subprocess.run(
        ["/bin/bash", SCRIPT, *cases], capture_output=True, text=True, check=False, env=environment, timeout=240
    )


@pytest.mark.parametrize("in_ci", [True, False], ids=["CI", "elsewhere"])
@pytest.mark.parametrize(
    ("failing", "message"),
    [
        ({"id": "echo 1000"}, "Fresh machines are not checked: only root can create and enter the root directories"),
        ({"unshare": "false"}, "Fresh machines are not checked: namespaces are not allowed here"),
        ({"mmdebstrap": "false"}, "bookworm/root: not checked: creating a root file system of bookworm failed"),
    ],
    ids=["not root", "no namespaces", "no root file system"],
)
def test_machine_that_cannot_be_checked_fails_only_in_ci(
    failing: dict[str, str], message: str, in_ci: bool, tmp_path: Path
) -> None:
    ran = run_check(tmp_path, "bookworm/root", in_ci=in_ci, **failing)
    assert message in ran.stderr
    assert ran.returncode == (1 if in_ci else 0)


def test_every_fresh_machine_is_reported_if_one_fails(tmp_path: Path) -> None:
    enter = "case $* in */trixie*) echo broken && exit 1 ;; esac"
    ran = run_check(tmp_path, "bookworm/root", "trixie/root", "bookworm/user", mmdebstrap=MAKE_ROOT, unshare=enter)
    assert sorted(re.sub(r" \(.*", "", line) for line in ran.stdout.splitlines()) == [
        "bookworm/root: works",
        "bookworm/user: works",
        "trixie/root: broken",
    ]
    assert "trixie/root: FAILED" in ran.stderr
    assert ran.returncode == 1


def test_fresh_machine_check_succeeds_if_all_machines_succeed(tmp_path: Path) -> None:
    ran = run_check(tmp_path, "bookworm/root", "trixie/root", mmdebstrap=MAKE_ROOT)
    assert "FAILED" not in ran.stderr
    assert ran.returncode == 0
