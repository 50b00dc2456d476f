"""
Documented server sessions, run with real kubectls: an old and a current version.

Commands of one document run in order against a separate server. `...` in an output matches anything, ages and column
widths are ignored. Commands that only read are retried, and those that conflict with a change by a controller.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.documents import ROOT, list_documents, read_flags, read_sessions
from tests.support.kubectl import drop_namespace_of_deletion, find_version, list_kubectls
from tests.support.upprocess import System

from virtshape.launcher.node.requirements import find_missing_packages

AGE = re.compile(r"\b(?:\d+[smhd])+\b")
TIMEOUT = 600.0
_MAY_TAKE = re.compile(
    r"kubectl (?:get|describe|explain|auth|diff|wait)\b|console .*--log|expand --vm|virtctl (?:fit|diff)\b"
    r"|migrate-type .*--dry-run"
    r"|virtshape (?:status|user list)"
)
"""Commands that only read; they are retried until the output matches."""

_CONFLICT = "the object has been modified"
"""Part of the output of a command that changed nothing, because a controller had changed the object; it is retried."""

_RESTARTS = re.compile(r"virtctl restart\b")
_LIST_REQUESTS = "kubectl get vm --all-namespaces -o jsonpath='{.items[*].status.stateChangeRequests}'"
"""Prints nothing once all VMs are restarted; before this, the status of the VM is that of the old instance."""

BY_OLDER: list[tuple[tuple[int, int], str, str]] = [
    (
        (1, 24),  # the first version with server-side validation
        "kubectl apply -f examples/broken",
        'error: error validating "examples/broken/vm.yaml": error validating data: ...unknown field "buss" in ...',
    ),
    (
        (1, 27),  # the first version whose explain command reads OpenAPI v3
        "kubectl explain vm.spec.template.spec.domain.cpu.guest",
        "KIND: VirtualMachine VERSION: kubevirt.io/v1 FIELD: guest <integer> DESCRIPTION: Number of vCPUs; ...",
    ),
]
"""Outputs of older kubectls: version, command, and the output that every kubectl before this version prints."""


def _find_documents() -> list[Path]:
    return [path for path in list_documents() if any(session.needs_server for session in read_sessions(path))]


def _matches(expected: str, actual: str) -> bool:
    pattern = ".*?".join(re.escape(part) for part in _normalize(expected).split("..."))
    return re.fullmatch(pattern, _normalize(actual), re.DOTALL) is not None


def _normalize(text: str) -> str:
    return re.sub(r"[ \n]+", " ", AGE.sub("AGE", drop_namespace_of_deletion(text))).strip()


def _expect(line: str, output: str, version: tuple[int, int]) -> str:
    """Return the output that this kubectl version prints in place of `output`."""
    return next((older for since, command, older in BY_OLDER if command == line and version < since), output)


@pytest.mark.parametrize("kubectl", list_kubectls())
@pytest.mark.parametrize("document", _find_documents(), ids=lambda path: path.name)
def test_server_prints_the_documented_output(document: Path, kubectl: Path, tmp_path: Path) -> None:
    if "virtctl console" in document.read_text() and (missing_packages := find_missing_packages()):
        pytest.skip(f"guests cannot run: install {', '.join(missing_packages)}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").symlink_to(kubectl)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    with System(tmp_path / "state" / "virtshape", "--controllers", *read_flags(document)) as system:
        environment = {
            **os.environ,
            "PATH": f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "KUBECONFIG": str(system.kubeconfig),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "HOME": str(tmp_path),
        }
        try:
            for line, output in (session for session in read_sessions(document) if session.needs_server):
                expected = _expect(line, output, find_version(kubectl))
                shown = _run(line, expected, tmp_path, environment)
                assert _matches(expected, shown), f"{document.name}: $ {line}\n{shown}"
                if _RESTARTS.search(line):
                    assert not _run(_LIST_REQUESTS, "", tmp_path, environment).strip(), f"{document.name}: $ {line}"
        finally:  # otherwise, guests would keep running after the test
            _run("kubectl delete vm --all --all-namespaces --timeout=600s", "...", tmp_path, environment)


def _run(line: str, output: str, directory: Path, environment: dict[str, str]) -> str:
    deadline, pause = time.monotonic() + TIMEOUT, 0.1
    while True:
        ran = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],  # noqa: S607 - whichever there is
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=directory,
            env=environment,
            check=False,
        )
        may_retry = _MAY_TAKE.search(line) or _CONFLICT in ran.stdout
        if _matches(output, ran.stdout) or not may_retry or time.monotonic() > deadline:
            return ran.stdout
        pause = min(2 * pause, 1.0)  # leave CPU time to guests that are booting
        time.sleep(pause)
