"""
Namespaces and cgroups of a node, and their removal.

A node has separate namespaces for mounts, network, processes, host name and IPC, and its cgroups have a common parent.
If its first process exits, the kernel kills all others. `close` also removes cgroups and loop devices.
"""

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
ADDRESS: Final = "192.0.2.1"
CGROUPS: Final = Path("/sys/fs/cgroup")
PREFIX: Final = "virtshape-node-"
TIMEOUT: Final = 120.0
CPU_WEIGHT: Final = 16
DIE_WITH_PARENT: Final = ("setpriv", "--pdeathsig", "KILL")
_UNSHARE: Final = ("--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc")


class Namespaces:
    """The namespaces of one node, from construction until `close`."""

    def __init__(self, directory: Path) -> None:
        remove_stale_cgroups()
        self.directory = directory
        self.name = f"{PREFIX}{secrets.token_hex(4)}"
        self.cgroup = f"/{self.name}"
        for hierarchy in find_hierarchies():
            (hierarchy / self.name).mkdir()
            _inherit_cpuset(hierarchy, hierarchy / self.name)
            _set_cpu_weight(hierarchy / self.name)
        line = [*DIE_WITH_PARENT, "unshare", *_UNSHARE, "--propagation", "private", "bash"]
        self._log = directory / "namespaces.log"
        with self._log.open("wb") as log:
            line += [str(HERE / "enter.sh"), str(directory), self.name, ADDRESS]
            self._process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._relays: list[subprocess.Popen[bytes]] = []
        self._wait_until_ready()
        self.pid = _find_child(self._process.pid)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not (self.directory / "ready").exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise RuntimeError(f"the namespaces of the node cannot be set up: {self._log.read_text()}")
            time.sleep(0.05)

    @property
    def prefix(self) -> list[str]:
        """The command that starts a program in the namespaces."""
        return ["nsenter", f"--target={self.pid}", "--mount", "--net", "--pid", "--uts", "--ipc", "--"]

    def run(self, *line: str | Path) -> str:
        """Run a command in the namespaces and return its output."""
        ran = subprocess.run([*self.prefix, *line], capture_output=True, text=True, check=False)
        if ran.returncode:
            raise RuntimeError(f"{' '.join(map(str, line))}: {ran.stdout}{ran.stderr}")
        return ran.stdout

    def relay(self, ports: Sequence[int]) -> None:
        """Forward these ports from this machine's loopback address to the loopback address in the namespaces."""
        with contextlib.ExitStack() as stack:
            listeners = [stack.enter_context(socket.create_server(("127.0.0.1", port))) for port in ports]
            descriptors = [listener.fileno() for listener in listeners]
            pairs = [str(number) for pair in zip(descriptors, ports, strict=True) for number in pair]
            line = [*DIE_WITH_PARENT, "nsenter", f"--target={self.pid}", "--net", "--", sys.executable]
            line += [str(HERE / "relay.py"), *pairs]
            self._relays.append(subprocess.Popen(line, stdin=subprocess.DEVNULL, pass_fds=descriptors))

    def close(self) -> None:
        """Kill all processes, and remove cgroups and loop devices."""
        for relay in self._relays:
            relay.terminate()
            relay.wait()
        with contextlib.suppress(ProcessLookupError, IndexError):
            os.kill(_find_child(self._process.pid), signal.SIGKILL)
        self._process.wait()
        remove_cgroups(self.name)
        for device in list_loop_devices(self.directory):
            subprocess.run(["losetup", "--detach", device], check=False)


def find_hierarchies() -> list[Path]:
    """Return the writable cgroup hierarchies: one for cgroup v2, several for cgroup v1."""
    lines = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return [Path(place) for _, place, kind, *_ in lines if kind in ("cgroup", "cgroup2") and os.access(place, os.W_OK)]


def remove_cgroups(name: str) -> None:
    """Remove the cgroups of a node once their processes have exited."""
    deadline = time.monotonic() + TIMEOUT
    for hierarchy in find_hierarchies():
        while (hierarchy / name).exists():
            for path in sorted((hierarchy / name).rglob("*/"), reverse=True):
                with contextlib.suppress(OSError):
                    path.rmdir()
            try:
                (hierarchy / name).rmdir()
            except OSError:  # processes are still exiting
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)


def remove_stale_cgroups() -> None:
    """Remove cgroups left by nodes that were killed: no command line contains the name of such a node."""
    names = {path.name for hierarchy in find_hierarchies() for path in hierarchy.glob(f"{PREFIX}*")}
    running = list(_list_command_lines())
    for name in names:
        if not any(name in line for line in running) and _is_older(name, TIMEOUT):
            remove_cgroups(name)


def list_loop_devices(directory: Path) -> list[str]:
    """Return the loop devices whose files are in a directory."""
    ran = subprocess.run(["losetup", "--list", "--json"], capture_output=True, text=True, check=False)
    devices = json.loads(ran.stdout or "{}").get("loopdevices") or []
    return [one["name"] for one in devices if (one["back-file"] or "").startswith(f"{directory}/")]


def _list_command_lines() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has exited
            yield path.read_text(errors="replace")


def _is_older(name: str, seconds: float) -> bool:
    """Return True if all cgroups of a node are older than this; a node creates them before its first process."""
    made = [path for hierarchy in find_hierarchies() if (path := hierarchy / name).exists()]
    return all(time.time() - path.stat().st_mtime > seconds for path in made)


def _inherit_cpuset(hierarchy: Path, made: Path) -> None:
    """Copy the allowed CPUs and memory nodes, which are empty in a new cgroup v1."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (hierarchy / name).exists():
            (made / name).write_text((hierarchy / name).read_text())


def _set_cpu_weight(made: Path) -> None:
    """Set a CPU weight with which all pods together get more CPU time than a single process on a busy machine."""
    for name, default in (("cpu.shares", 1024), ("cpu.weight", 100)):
        if (made / name).exists():
            (made / name).write_text(str(CPU_WEIGHT * default))


def _find_child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
