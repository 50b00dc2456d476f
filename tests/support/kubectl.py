"""
Run the kubectls that are installed on this machine.

`tools/kubectl` installs an old and a current version.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support.manifests import write_manifest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "virtshape"
TIMEOUT = 300.0


class KubectlResult(NamedTuple):
    """Exit status and output of a run of kubectl or virtctl."""

    status: int
    out: str
    err: str

    @property
    def tree(self) -> Any:
        return json.loads(self.out)


def run_program(
    line: Sequence[str | Path], stdin: str, environment: Mapping[str, str], seconds: float
) -> KubectlResult:
    """Run a command line, for at most this time, and return its result."""
    result = subprocess.run(
        line, input=stdin, capture_output=True, text=True, check=False, timeout=seconds, env=environment
    )
    return KubectlResult(result.returncode, result.stdout, result.stderr)


class Kubectl:
    """A kubectl binary with its own kubeconfig and home directory."""

    def __init__(self, path: Path, kubeconfig: Path, home: Path, namespace: str = "default") -> None:
        self.path = path
        self.version = find_version(path)
        self.kubeconfig = kubeconfig
        self.namespace = namespace
        self._home = home

    def in_namespace(self, namespace: str) -> "Kubectl":
        return Kubectl(self.path, self.kubeconfig, self._home, namespace)

    def using(self, kubeconfig: Path, namespace: str = "") -> "Kubectl":
        return Kubectl(self.path, kubeconfig, self._home, namespace or self.namespace)

    def run(self, *arguments: str | Path, stdin: str = "", **environment: str) -> KubectlResult:
        """Run kubectl and return its result."""
        return run_program(self.line(*arguments), stdin, self.environment | environment, TIMEOUT)

    def __call__(self, *arguments: str | Path, stdin: str = "", **environment: str) -> str:
        """Run kubectl, check that it succeeds and return its output."""
        result = self.run(*arguments, stdin=stdin, **environment)
        assert result.status == 0, f"kubectl {' '.join(map(str, arguments))}: {result.out}{result.err}"
        return result.out

    def run_rejected(self, *arguments: str | Path, stdin: str = "") -> str:
        """Run kubectl, check that it fails and return its error output."""
        result = self.run(*arguments, stdin=stdin)
        assert result.status != 0, result.out
        return result.err

    def get(self, *arguments: str | Path) -> Any:
        """Return the decoded output of `kubectl get -o json`."""
        return json.loads(self("get", *arguments, "-o", "json"))

    def apply(self, *trees: Any, arguments: tuple[str, ...] = ()) -> str:
        """Apply objects from a file."""
        return self("apply", *arguments, "-f", write_manifest(str(self._home / "apply.yaml"), *trees))

    def start(self, *arguments: str | Path) -> "subprocess.Popen[str]":
        """Start kubectl in the background."""
        return subprocess.Popen(
            self.line(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment
        )

    def line(self, *arguments: str | Path) -> list[str | Path]:
        return [self.path, "--namespace", self.namespace, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self._home), "TMPDIR": str(self._home)}


@cache
def find_version(path: Path) -> tuple[int, int]:
    """Return the version as (major, minor)."""
    result = subprocess.run([path, "version", "--client", "-o", "json"], capture_output=True, text=True, check=True)
    version = re.match(r"v(\d+)\.(\d+)", json.loads(result.stdout)["clientVersion"]["gitVersion"])
    assert version is not None
    return int(version[1]), int(version[2])


def drop_namespace_of_deletion(text: str) -> str:
    """Remove the namespace that kubectl 1.33 and later print after deleting an object."""
    return re.sub(r"(?<= deleted) from \S+ namespace$", "", text, flags=re.MULTILINE)


def find_kubectls() -> dict[tuple[int, int], Path]:
    """Return one kubectl of each installed version, oldest first."""
    on_path = shutil.which("kubectl")
    paths = [*sorted(CACHE.glob("kubectl-*")), *([Path(on_path)] if on_path else [])]
    found = {}
    for path in paths:
        with contextlib.suppress(OSError, subprocess.CalledProcessError):  # ignore binaries that do not run here
            found[find_version(path)] = path
    return dict(sorted(found.items()))


def list_kubectls() -> list[Any]:
    """Return the oldest kubectl, marked slow, and the newest as parameters; missing ones become skipped tests."""
    found = find_kubectls()
    chosen = dict([*list(found.items())[:1], *list(found.items())[-1:]])
    newest = max(chosen, default=None)
    parameters = [
        pytest.param(path, id=f"kubectl-{major}.{minor}", marks=() if (major, minor) == newest else pytest.mark.slow)
        for (major, minor), path in chosen.items()
    ]
    if (1, 20) not in chosen:
        parameters.insert(0, _missing("kubectl-1.20", "no kubectl 1.20: tools/kubectl/debian.sh fetches Debian's"))
    if not any(version >= (1, 30) for version in chosen):
        parameters.append(_missing("kubectl-current", "no current kubectl: tools/kubectl/build.sh makes one with Go"))
    return parameters


def _missing(name: str, reason: str) -> Any:
    return pytest.param(None, id=name, marks=pytest.mark.skip(reason=reason))
