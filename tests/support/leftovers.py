"""What a server has created on the machine: processes, network devices and namespaces, sockets and files."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from tests.support.upprocess import System, wait_until

from virtshape.launcher.node.account import choose_account
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.forkserver import PROCESS_MODULE as FORKSERVER
from virtshape.launcher.node.process import get_process_name

_GROWING = ("cache", "virtshape.db", "audit.log")
"""Names at the top of a data directory whose files change while a server runs."""
_SETTLED_SECONDS = 2.0
"""On a busy machine, a killed process needs a moment until it is gone."""


class Process(NamedTuple):
    """A process of a server or of its guests."""

    pid: int
    parent: int
    name: str
    state: str
    """Z for a zombie, T for a stopped process, S for any other."""
    arguments: str

    def __str__(self) -> str:
        name = self.name.rpartition("-")[0] if self.name.startswith("vm-") else self.name
        name = "forkserver" if FORKSERVER in self.arguments else name  # it has another name before it is used
        return name if self.state == "S" else f"{name} ({self.state})"


class MachineState(NamedTuple):
    """The processes, network devices, namespaces, sockets and files that belong to one server."""

    processes: tuple[str, ...]
    """The name and state of each process, sorted."""
    devices: frozenset[str]
    namespaces: frozenset[str]
    """Mount points of network namespaces."""
    sockets: frozenset[str]
    files: frozenset[str]

    def describe_changes(self, later: Self) -> str:
        """Return the differences of a later state, one per line."""
        lines = []
        for name, before, after in zip(self._fields, self, later, strict=True):
            lines += [f"{name}: new: {one}" for one in after if one not in before]
            lines += [f"{name}: gone: {one}" for one in before if one not in after]
        return "\n".join(lines) or f"{self.processes} became {later.processes}"


class Machine:
    """The machine, as far as one server uses it; `system` may be replaced by a later server of the data directory."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._uids: set[str] = set()
        """The uids of all instances that the server has reported events about."""

    def read_settled(self) -> MachineState:
        """Return the state as soon as it has not changed for a while, so that it contains no process that is ending."""
        states = [self.read()]
        since = time.monotonic()

        def is_settled() -> bool:
            nonlocal since
            states.append(self.read())
            if states[-1] != states[-2]:
                since = time.monotonic()
            return time.monotonic() - since >= _SETTLED_SECONDS

        wait_until(is_settled, lambda: states[-2].describe_changes(states[-1]))
        return states[-1]

    def read(self) -> MachineState:
        """Return the current state."""
        self._note_instances()
        paths = [str(self.system.directory), *self._list_guest_paths()]
        return MachineState(
            tuple(sorted(map(str, self.list_processes()))),
            frozenset(path.name for path in Path("/sys/class/net").iterdir()),
            frozenset(line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if " nsfs " in line),
            frozenset(_list_sockets(tuple(paths))),
            frozenset(_list_files(self.system.directory)),
        )

    def wait_until_unchanged(self, before: MachineState, seconds: float = 300.0) -> None:
        """Wait until the machine has the same processes, devices, sockets and files as before."""
        wait_until(lambda: self.read() == before, lambda: before.describe_changes(self.read()), seconds)

    def list_processes(self) -> list[Process]:
        """Return the processes of the server, its children and all its guests, including zombies."""
        everything = {process.pid: process for process in _list_all()}
        paths = [f"{path}/" for path in (self.system.directory, *self._list_guest_paths())]
        names = {get_process_name(Path(path)) for path in self._list_guest_paths()}
        server = self.system.process.pid
        found = {
            pid
            for pid, process in everything.items()
            if server in (pid, process.parent)
            or process.name in names
            or any(path in process.arguments for path in paths)
        }
        found |= {pid for pid, process in everything.items() if process.parent in found and process.state == "Z"}
        return [everything[pid] for pid in sorted(found)]

    def _note_instances(self) -> None:
        for event in self.system.request("GET", "/api/v1/events")[1]["items"]:
            involved = event["involvedObject"]
            if involved["kind"] == "VirtualMachineInstance":
                self._uids.add(involved["uid"])

    def _list_guest_paths(self) -> list[str]:
        directories = GuestDirectories(self.system.directory, choose_account())
        uids = self._uids | set(directories.list_guests())
        return [str(directories.get_layout(uid).directory) for uid in sorted(uids)]


def _list_all() -> Iterator[Process]:
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            name, _, rest = (path / "stat").read_text().partition("(")[2].rpartition(")")
            state, parent, *_ = rest.split()
            arguments = (path / "cmdline").read_bytes().decode(errors="replace")
            yield Process(int(path.name), int(parent), name, state if state in "ZT" else "S", arguments)


def _list_sockets(paths: tuple[str, ...]) -> Iterator[str]:
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[7].startswith(paths):
            yield fields[7]


def _list_files(directory: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(directory):  # unlike rglob, it ignores directories that are removed meanwhile
        for name in (*folders, *files):
            path = str((Path(folder) / name).relative_to(directory))
            if not path.startswith(_GROWING):
                yield path
