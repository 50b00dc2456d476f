"""
Blank Debian machines for tests: root file systems in namespaces, without a network.

A machine is an overlay of the layers that `tools/release/debianroots.py` creates once, so starting one takes less than
a second.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pytest
from tests.support.skipping import IMPOSSIBLE
from tests.support.upprocess import wait_until
from tools.images.layers import HERE
from tools.node.namespaces import DIE_WITH_PARENT

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

INIT = "while :; do sleep 1; done"
"""Process 1 of a machine: a shell, which also reaps orphans; libvirt waits until its processes are reaped."""


def require_namespaces() -> None:
    """Skip the test if this machine cannot create and enter root file systems."""
    if os.geteuid() != 0:
        pytest.skip("only root can create root file systems")
    if shutil.which("mmdebstrap") is None:
        pytest.skip("no mmdebstrap: apt-get install -y --no-install-recommends mmdebstrap")
    probe = ["unshare", "--mount", "--pid", "--net", "--fork", "true"]
    if subprocess.run(probe, check=False).returncode:
        pytest.skip(f"{IMPOSSIBLE}namespaces are not allowed")


class DebianRoot:
    """A machine: processes in it see its files, its processes and a loopback device."""

    namespaces: Sequence[str] = ("--mount", "--pid", "--net")
    init = INIT
    process = "sh"
    """The name of process 1 once it runs."""
    prefix: Sequence[str] = ()
    """A command that executes the one which creates the namespaces."""

    def __init__(self, layers: Sequence[Path], directory: Path) -> None:
        root, upper, work = (directory / name for name in ("root", "upper", "work"))
        for path in (root, upper, work):
            path.mkdir(parents=True)
        lower = ":".join(str(layer) for layer in reversed(layers))
        overlay = f"lowerdir={lower},upperdir={upper},workdir={work}"
        settings = str(layers[0].parent / "settings")
        prepared = [str(HERE / "run.sh"), overlay, str(root), settings, self.init]
        line = [
            *DIE_WITH_PARENT,
            *self.prefix,
            "unshare",
            *self.namespaces,
            "--fork",
            "--kill-child",
            "--propagation",
            "private",
        ]
        self._line = [*line, "bash", "-ec", 'ip link set lo up; exec bash "$@"', "bash", *prepared]
        self.boot()

    def boot(self) -> None:
        """Start process 1 and wait until the machine is ready."""
        self._holder = subprocess.Popen(self._line)
        try:
            init = wait_until(self._find_init, "the machine did not start")
            self._enter = ["nsenter", "--target", init, *self.namespaces, "--root", "--wdns=/root"]
            self.wait_for_boot()
        except AssertionError:
            self.__exit__()
            raise

    def wait_for_boot(self) -> None:
        """Wait until the machine is ready for commands; a shell as process 1 starts nothing to wait for."""

    def _find_init(self) -> str:
        """Return the PID of the machine's process 1, or an empty string if the machine is not ready yet."""
        assert self._holder.poll() is None, "the machine did not start"
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text().split()
        is_ready = children and Path(f"/proc/{children[0]}/comm").read_text() == f"{self.process}\n"
        return children[0] if is_ready else ""

    def start(self, command: str, **environment: str) -> subprocess.Popen[str]:
        """Start a shell command as root."""
        variables = {
            "PATH": PATH,
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
        } | environment
        pipe = subprocess.PIPE
        line = [*self._enter, "sh", "-ec", command]
        return subprocess.Popen(line, env=variables, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def run(self, command: str, *, stdin: str = "") -> str:
        """Run a shell command as root and return its output."""
        with self.start(command) as process:
            output, errors = process.communicate(stdin)
        assert process.returncode == 0, f"{command}\n{output}\n{errors}"
        return output

    def succeeds(self, command: str) -> bool:
        """Return True if a shell command exits with 0."""
        with self.start(command) as process:
            process.communicate("")
        return process.returncode == 0

    def copy_in(self, path: Path, target: str) -> None:
        """Copy a file of the host into the machine."""
        with path.open("rb") as content:
            subprocess.run([*self._enter, "sh", "-c", f"cat > {target}"], stdin=content, env={"PATH": PATH}, check=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._holder.kill()  # because of --kill-child, this also kills every process of the machine
        self._holder.wait()
