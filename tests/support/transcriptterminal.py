"""
A terminal for transcripts: commands run in bash with a running server and a real kubectl.

Values that differ between runs are masked: generated names, times, revisions. A mask in a command is replaced with the
last printed value with that mask.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.support.kubectl import drop_namespace_of_deletion

TIMEOUT = 300.0

_NAMES = {
    "kubectl": ("bin/kubectl", "bin/kubectl.sh", "cluster-up/kubectl.sh"),
    "virtctl": ("bin/virtctl", "cluster-up/virtctl.sh"),
}
"""Commands, and the paths under which transcripts run them."""

_MASKS = {
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}": "UID",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ": "TIME",
    r'(?<="resourceVersion": )"\d+"': '"N"',
    r'^( *)"managedFields": \[\n(?:\1 .*\n)*\1\],\n': "",  # printed by kubectl 1.20
    r'admission webhook "[\w.]+" denied the request: ': "",  # prefix that a cluster adds to webhook messages
}
_WORD = re.compile(r"[\w.-]+")


class Terminal:
    """A shell of a user who has just installed virtshape."""

    def __init__(self, directory: Path, kubeconfig: Path, kubectl: Path) -> None:
        self.directory = directory
        self._seen: dict[str, str] = {}
        programs = {"kubectl": kubectl, "virtctl": Path(sys.executable).parent / "virtctl"}
        for program, names in _NAMES.items():
            for name in names:
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                (directory / name).symlink_to(programs[program])
        self._environment = {
            **os.environ,
            "PATH": f"{directory / 'bin'}:{os.environ['PATH']}",
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(directory),
        }

    def type(self, line: str) -> str:
        """Run a command and return its output."""
        ran = subprocess.run(
            ["bash", "-o", "pipefail", "-c", _WORD.sub(lambda word: self._seen.get(word[0], word[0]), line)],  # noqa: S607 - whichever there is
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.directory,
            env=self._environment,
            check=False,
            timeout=TIMEOUT,
        )
        self._seen |= {mask(word): word for word in _WORD.findall(ran.stdout) if "UID" in mask(word)}
        return mask(ran.stdout)

    def wait(self, line: str, expected: str) -> str:
        """Run a command until it prints the expected output or a timeout expires."""
        deadline, pause = time.monotonic() + TIMEOUT, 0.05
        while (shown := self.type(line)) != expected and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(2 * pause, 1.0)  # longer pauses leave CPU time to the server
        return shown


def mask(text: str) -> str:
    """Return the text with variable values masked."""
    for pattern, word in _MASKS.items():
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return drop_namespace_of_deletion(text)
