"""
What the documents of the design show being typed, typed: real kubectl, our virtctl, one system a document.

Objects that a transcript takes for granted are made first. Where an output differs from the document's on purpose, a
remark says so. Beside each stands what is refused, in full.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pytest
from tests.e2e.kubectl import list_kubectls
from tests.e2e.system import System
from tests.seeds.transcripts.terminal import Terminal
from tests.seeds.transcripts.transcript import play

HERE = Path(__file__).parent
TRANSCRIPTS = sorted(HERE.glob("*/*.console"))


@pytest.fixture(scope="module", params=list_kubectls())
def kubectl(request: pytest.FixtureRequest) -> Path:
    """The oldest kubectl and the newest; the transcripts need jq too."""
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed: see the package jq")
    path: Path = request.param
    return path


@pytest.fixture(scope="module")
def open_terminal(kubectl: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Terminal]]:
    """Opens the terminal of a document, beside a system of its own, or the one that is open already."""
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
def test_every_command_prints_the_output_of_the_transcript(
    open_terminal: Callable[[str], Terminal], transcript: Path
) -> None:
    play(open_terminal(transcript.parent.name), transcript)
