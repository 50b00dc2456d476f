"""What the documents show is what the commands print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = Path(sys.executable).parent
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
OURS = ("virtctl", "virtshape", "cat")


def _sessions() -> list[tuple[str, str, str]]:
    """Each command of ours in the documents: the file, the line, the output shown below it."""
    found = []
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in BLOCK.findall(document.read_text()):
            for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                line, _, output = session.partition("\n")
                if line.split()[0] in OURS and output.strip():
                    found.append((document.name, line, output))
    return found


@pytest.mark.parametrize(("document", "line", "output"), _sessions(), ids=lambda text: str(text)[:60].strip())
def test_a_command_prints_what_its_document_shows(document: str, line: str, output: str) -> None:
    program, *words = shlex.split(line)
    found = COMMANDS / program
    ran = subprocess.run(
        [found if found.exists() else program, *words], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert ran.stdout == output, f"{document}: $ {line}\n{ran.stderr}"


def test_the_tour_runs_to_its_end() -> None:
    ran = subprocess.run([sys.executable, "examples/tour.py"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "1. A VM that names a size" in ran.stdout


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_expands(path: Path) -> None:
    ran = subprocess.run([COMMANDS / "virtctl", "expand", "-f", path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
