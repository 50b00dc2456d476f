"""Run virtctl as the admin of a control plane in one namespace, in the foreground or background."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.kubectl import KubectlResult
from tests.support.terminals import Terminal

PROGRAM = Path(sys.executable).parent / "virtctl"
TIMEOUT = 300.0


class Virtctl:
    """virtctl with its own kubeconfig and home directory."""

    def __init__(self, kubeconfig: Path, home: Path, namespace: str, program: Path = PROGRAM) -> None:
        self.namespace = namespace
        self.program = program
        self.environment = {
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
            "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
        }

    def line(self, *arguments: str | Path) -> list[str | Path]:
        return [self.program, "-n", self.namespace, *arguments]

    def __call__(self, *arguments: str | Path, said: str = "") -> KubectlResult:
        """Run virtctl and return its result."""
        ran = subprocess.run(
            self.line(*arguments),
            input=said,
            capture_output=True,
            text=True,
            check=False,
            env=self.environment,
            timeout=TIMEOUT,
        )
        return KubectlResult(ran.returncode, ran.stdout.replace("\r\n", "\n"), ran.stderr)

    def print(self, *arguments: str | Path) -> str:
        """Run virtctl, check that it succeeds and return its output."""
        ran = self(*arguments)
        assert (ran.status, ran.err) == (0, ""), f"virtctl {' '.join(map(str, arguments))}: {ran.err}"
        return ran.out

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start virtctl in the background."""
        return subprocess.Popen(
            self.line(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment
        )

    def open(self, *arguments: str) -> Terminal:
        """Start virtctl in a terminal."""
        return Terminal(self.line(*arguments), self.environment)

    def read_log(self, name: str) -> str:
        """Return the console log of a guest."""
        return self("console", name, "--log").out.replace("\r", "")
