"""
A terminal for transcripts: lines are typed into bash as they stand, beside a running system and a real kubectl.

What differs from one day to the next is masked: numbers of objects, times, revisions. A masked word in a line stands
for the word that was shown last with the same mask, as if it were copied from there.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.e2e.kubectl import drop_namespace_of_deletion

TIMEOUT = 120.0

_NAMES = {
    "kubectl": ("bin/kubectl", "bin/kubectl.sh", "cluster-up/kubectl.sh"),
    "virtctl": ("bin/virtctl", "cluster-up/virtctl.sh"),
}
"""Commands, and all the names that transcripts know them by."""

_MASKS = {
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}": "UID",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ": "TIME",
    r'(?<="resourceVersion": )"\d+"': '"N"',
    r'^( *)"managedFields": \[\n(?:\1 .*\n)*\1\],\n': "",  # which kubectl 1.20 shows unasked
    r'admission webhook "[\w.]+" denied the request: ': "",  # as a cluster begins what our webhook says
}
_WORD = re.compile(r"[\w.-]+")


class Terminal:
    """A shell of a user who has just set up the system."""

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
        """Type a line; what it shows."""
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
        """Type a line until it shows what is expected, or for long enough."""
        deadline = time.monotonic() + TIMEOUT
        while (shown := self.type(line)) != expected and time.monotonic() < deadline:
            time.sleep(0.05)
        return shown


def mask(text: str) -> str:
    """The text without what differs from day to day."""
    for pattern, word in _MASKS.items():
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return drop_namespace_of_deletion(text)
