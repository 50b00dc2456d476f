"""
Transcripts of the design documents, run with a real kubectl, virtctl and one server per document.

Objects that a transcript requires are created first. A comment marks outputs that differ from the document on
purpose. Each design has a transcript of rejected commands with their complete messages.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pytest
from tests.support.kubectl import list_kubectls
from tests.support.transcript import run_transcript
from tests.support.transcriptterminal import Terminal
from tests.support.upprocess import System

HERE = Path(__file__).parent
TRANSCRIPTS = sorted(HERE.glob("*/*.console"))


@pytest.fixture(scope="module", params=list_kubectls())
def kubectl(request: pytest.FixtureRequest) -> Path:
    """Return the path of the oldest or the newest kubectl; skip the tests if jq is missing."""
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed: see the package jq")
    path: Path = request.param
    return path


@pytest.fixture(scope="module")
def open_terminal(kubectl: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Terminal]]:
    """Yield a function that returns the terminal of a document; the first call for a document starts its server."""
    with ExitStack() as stack:

        @cache
        def open_(document: str) -> Terminal:
            return stack.enter_context(opened(document, kubectl, tmp_path_factory.mktemp(document)))

        yield open_


@contextmanager
def opened(document: str, kubectl: Path, directory: Path) -> Iterator[Terminal]:
    shutil.copytree(HERE / document, directory / "home")
    with System(directory / "data", "--launcher", "simulate") as system:
        yield Terminal(directory / "home", system.kubeconfig, kubectl)
    log = system.log.read_text()
    assert "ERROR" not in log, log
    assert "Traceback" not in log, log


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_transcript_commands_print_the_documented_output(
    open_terminal: Callable[[str], Terminal], transcript: Path
) -> None:
    run_transcript(open_terminal(transcript.parent.name), transcript)
