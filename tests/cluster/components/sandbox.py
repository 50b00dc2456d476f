"""
A minimal container for launcher pods: separate mount and PID namespaces, with the mounts of a pod.

It is created with unshare and nsenter, and runs programs of this machine; its writable files are in a directory of the
test.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from virtshape.api.launcherpod import ROOT

TIMEOUT = 300.0
DEVICES = ("null", "zero", "full", "random", "urandom", "kvm", "net/tun", "vhost-net")
TERMINATION_LOG = "dev/termination-log"
AS_OTHERS = () if os.geteuid() == 0 else ("--user", "--map-current-user", "--keep-caps")
JOIN_OTHERS = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")


class Sandbox:
    """A container that runs one command; the folder `run` in its directory is mounted at /run/virtshape."""

    def __init__(self, directory: Path, command: Sequence[str], variables: Mapping[str, str]) -> None:
        self.directory = directory
        self._command = command
        self.environment = {**variables, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self._binds: list[tuple[Path, str]] = []
        for name in ("run", "dev"):
            (directory / name).mkdir(parents=True)
        self._process: subprocess.Popen[bytes] | None = None

    def bind(self, source: Path, place: str) -> None:
        """Mount a directory of this machine at a path below /run/virtshape."""
        (self.directory / "run" / place).mkdir(parents=True)
        self._binds.append((source, f"{self.directory}/run/{place}"))

    def start(self) -> None:
        """Run the command."""
        own = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
        line = ["unshare", *AS_OTHERS, *own, "sh", "-ec", self._write_script(), "sh", *self._command]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                line, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _write_script(self) -> str:
        directory = shlex.quote(str(self.directory))
        present = [name for name in DEVICES if Path("/dev", name).exists()]
        lines = [f"cd {directory}", "mkdir -p dev/net", f"touch {TERMINATION_LOG}", "ln -s /proc/self/fd dev/fd"]
        for name in present:
            lines += [f"touch dev/{name}", f"mount --bind /dev/{name} dev/{name}"]
        lines += [f"mount --bind {shlex.quote(str(source))} {shlex.quote(place)}" for source, place in self._binds]
        lines += ["mount --rbind dev /dev", "mount -t tmpfs -o mode=0755 tmpfs /run", "mkdir /run/virtshape"]
        return "\n".join([*lines, "mount --rbind run /run/virtshape", "cd /", 'exec "$@"'])

    def enter(self, command: Sequence[str]) -> list[str]:
        """Return the command line that runs a command in the container."""
        return ["nsenter", *JOIN_OTHERS, f"--target={self._find_first()}", "--mount", "--pid", "--wd=/", *command]

    def passes(self, probe: Mapping[str, Any] | None) -> bool:
        """Return True if the file that the probe checks exists, or if `probe` is None."""
        if probe is None:
            return True
        match probe["exec"]["command"]:
            case ["test", "-e", path]:
                return (self.directory / "run" / Path(path).relative_to(ROOT)).exists()
            case other:
                raise ValueError(f"unsupported probe: {other}")

    @property
    def status(self) -> int | None:
        """Return the exit status of the command, or None while it runs."""
        return None if self._process is None else self._process.poll()

    @property
    def termination_message(self) -> str:
        """Return the termination message of the command."""
        path = self.directory / TERMINATION_LOG
        return path.read_text() if path.exists() else ""

    def stop(self) -> None:
        """Send SIGTERM to the command."""
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(self._find_first(), signal.SIGTERM)

    def end(self) -> None:
        """Kill all processes of the container."""
        if self._process is not None:
            self._process.kill()  # the kernel kills the other processes of the PID namespace
            self._process.wait()

    def _find_first(self) -> int:
        """Return the PID of the container's first process; raise ValueError if it does not run."""
        assert self._process is not None
        pid, deadline = self._process.pid, time.monotonic() + TIMEOUT
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                if children:
                    return int(children[0])
            time.sleep(0.05)
        raise ValueError(f"no container runs in {self.directory}")
