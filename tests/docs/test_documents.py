"""Commands in the documentation print the documented output."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.documents import ROOT, list_documents, read_sessions

COMMANDS = Path(sys.executable).parent
OURS = ("virtctl", "virtshape", "cat")


def _sessions() -> list[tuple[str, str, str]]:
    """Return the file, command line and output of each documented command that needs no server."""
    return [
        (document.name, session.line, session.output)
        for document in list_documents()
        for session in read_sessions(document)
        if session.line.split()[0] in OURS and session.output.strip() and not session.needs_server
    ]


@pytest.mark.parametrize(("document", "line", "output"), _sessions(), ids=lambda text: str(text)[:60].strip())
def test_command_prints_the_documented_output(document: str, line: str, output: str, tmp_path: Path) -> None:
    program, *arguments = shlex.split(line)
    found = COMMANDS / program
    ran = subprocess.run(
        [found if found.exists() else program, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},  # a home directory without a kubeconfig
        check=False,
    )
    assert ran.stdout == output, f"{document}: $ {line}\n{ran.stderr}"


def test_tour_script_exits_successfully() -> None:
    ran = subprocess.run([sys.executable, "examples/tour.py"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "1. A VM with an instance type" in ran.stdout


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_can_be_expanded(path: Path) -> None:
    ran = subprocess.run([COMMANDS / "virtctl", "expand", "-f", path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
