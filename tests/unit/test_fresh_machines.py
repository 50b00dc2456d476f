"""`tools/fresh/check.sh`: a machine that cannot be checked is an error in CI, and only reported elsewhere."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "fresh" / "check.sh"
PROGRAMS = ("id", "mmdebstrap", "unshare", "setpriv", "chroot", "apt-config", "apt-get")


def run_check(directory: Path, *, in_ci: bool, **failing: str) -> "subprocess.CompletedProcess[str]":
    """Run the script with stubs for the programs that need root; `failing` replaces the text of stubs."""
    programs = directory / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        text = failing.get(name.replace("-", "_"), "echo 0" if name == "id" else "true")
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(directory), "CI": "true" if in_ci else ""}
    return subprocess.run(
        ["/bin/bash", SCRIPT, "bookworm/root"], capture_output=True, text=True, check=False, env=environment, timeout=60
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
    ran = run_check(tmp_path, in_ci=in_ci, **failing)
    assert message in ran.stderr
    assert ran.returncode == (1 if in_ci else 0)
