"""
Enter a network namespace: create one for a new guest, or join that of a running guest.

A user namespace owns the network namespace, so no privileges are needed. The loopback of the namespace is private,
pasta connects the namespace to external networks, and prohibit routes block the addresses of the host and of cloud
metadata services.
"""

import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from virtshape.launcher.netns import kernel
from virtshape.launcher.netns.blockedaddresses import (
    Address,
    block_address,
    list_addresses,
    list_blocked_addresses,
)
from virtshape.launcher.netns.dns import RESOLVERS, Relay, find_local_resolver
from virtshape.launcher.netns.pasta import FAILED, PID_FILE, STARTED, PortForward, read_failure, run_pasta
from virtshape.launcher.threads import NotePublisher


class NamespaceError(Exception):
    """A network namespace could not be created or joined."""


class GuestNetwork:
    """The guest's network namespace, which this process has entered."""

    def __init__(self, directory: Path, relay: Relay | None, pasta: int | None) -> None:
        self._directory = directory
        self._relay = relay
        self._pasta = pasta

    def start(self, notes: NotePublisher | None = None) -> tuple[bool, str]:
        """
        Start the DNS relay and wait until pasta has connected the namespace.

        Return two values: whether ports are forwarded, and an error message, which is empty unless pasta failed.
        Failures of the relay become notes.
        """
        if self._relay is not None:
            self._relay.start(notes)
        if self._pasta is None:
            return False, ""
        status = os.waitstatus_to_exitcode(os.waitpid(self._pasta, 0)[1])
        if status == FAILED or status < 0:
            return False, read_failure(self._directory) or "pasta exited without a message"
        return status == STARTED, ""

    def close(self) -> None:
        """Stop pasta."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((self._directory / PID_FILE).read_text()), signal.SIGTERM)


def enter_namespace(directory: Path, forwards: Sequence[PortForward]) -> GuestNetwork:
    """Move this single-threaded process into a new network namespace."""
    user, group = os.geteuid(), os.getegid()
    blocked, relay = _inspect_host()
    reader, writer = os.pipe()
    process, pasta = os.getpid(), os.fork()
    if pasta == 0:
        os.close(writer)
        _wait_and_run_pasta(reader, directory, process, forwards)
    os.close(reader)
    try:
        kernel.allow_inspection()
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET | kernel.CLONE_NEWNS)
        kernel.map_identity(user, group)
        kernel.set_link_up("lo")
        for address in blocked:
            block_address(address)
        _open_relay(relay, directory)
        kernel.drop_capabilities()
        os.write(writer, b"\n")
    except OSError as error:
        os.close(writer)
        os.waitpid(pasta, 0)
        raise NamespaceError(f"creating the guest's network namespace failed: {error}") from error
    os.close(writer)
    return GuestNetwork(directory, relay, pasta)


def join_namespace(directory: Path, process: int) -> GuestNetwork:
    """Move this single-threaded process into the namespaces of a guest's QEMU."""
    _, relay = _inspect_host()
    try:
        kernel.allow_inspection()
        kernel.set_namespace(f"/proc/{process}/ns/user", kernel.CLONE_NEWUSER)
        kernel.set_namespace(f"/proc/{process}/ns/net", kernel.CLONE_NEWNET)
        if relay is not None:
            relay.open(directory)
        kernel.drop_capabilities()
    except OSError as error:
        raise NamespaceError(f"joining the guest's network namespace failed: {error}") from error
    return GuestNetwork(directory, relay, None)


def _inspect_host() -> tuple[list[Address], Relay | None]:
    blocked = list_blocked_addresses(list_addresses())
    resolver = find_local_resolver(blocked)
    return blocked, Relay(resolver) if resolver is not None else None


def _open_relay(relay: Relay | None, directory: Path) -> None:
    if relay is not None:
        kernel.bind_mount(str(relay.open(directory)), str(RESOLVERS))


def _wait_and_run_pasta(reader: int, directory: Path, process: int, forwards: Sequence[PortForward]) -> None:
    """Wait in the child process until the namespace exists, then run pasta; exit if creating the namespace fails."""
    try:
        if os.read(reader, 1):
            run_pasta(directory, process, forwards)
    finally:
        os._exit(FAILED)
