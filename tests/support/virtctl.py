"""Run virtctl, ours or KubeVirt's: in the foreground, in the background or in a terminal."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.kubectl import KubectlResult, run_program
from tests.support.terminals import Terminal

PROGRAM: Final = Path(sys.executable).parent / "virtctl"
TIMEOUT: Final = 300.0


class Virtctl:
    """virtctl with its own kubeconfig and home directory; the default namespace is that of the kubeconfig."""

    def __init__(self, kubeconfig: Path, home: Path, namespace: str = "", program: Path = PROGRAM) -> None:
        self.namespace = namespace
        self.program = program
        self.environment = {
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
            "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
        }

    def line(self, *arguments: str | Path) -> list[str | Path]:
        return [self.program, *(("-n", self.namespace) if self.namespace else ()), *arguments]

    def __call__(self, *arguments: str | Path, stdin: str = "") -> KubectlResult:
        """Run virtctl and return its result."""
        result = run_program(self.line(*arguments), stdin, self.environment, TIMEOUT)
        return result._replace(out=result.out.replace("\r\n", "\n"))

    def print(self, *arguments: str | Path) -> str:
        """Run virtctl, check that it succeeds and return its output."""
        result = self(*arguments)
        assert (result.status, result.err) == (0, ""), f"virtctl {' '.join(map(str, arguments))}: {result.err}"
        return result.out

    def start(self, *arguments: str, stderr: int = subprocess.PIPE) -> "subprocess.Popen[str]":
        """Start virtctl in the background."""
        return subprocess.Popen(
            self.line(*arguments), stdout=subprocess.PIPE, stderr=stderr, text=True, env=self.environment
        )

    def open(self, *arguments: str) -> Terminal:
        """Start virtctl in a terminal."""
        return Terminal(self.line(*arguments), self.environment)

    def read_log(self, name: str) -> str:
        """Return the console log of a guest."""
        return self("console", name, "--log").out.replace("\r", "")
