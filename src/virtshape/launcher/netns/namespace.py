"""
Enter a network namespace: create one for a new guest, or join that of a running guest.

A user namespace owns the network namespace, so no privileges are needed. Its loopback is private, pasta connects it to
external networks, and prohibit routes block the addresses of the host and of metadata services.
"""

import contextlib
import ipaddress
import os
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from virtshape.launcher.netns import kernel
from virtshape.launcher.netns.dns import RESOLVERS, Relay, find_local_resolver
from virtshape.launcher.netns.kernel import Address
from virtshape.launcher.netns.pasta import FAILED, PID_FILE, STARTED, PortForward, read_failure, run_pasta
from virtshape.launcher.threads import NotePublisher

METADATA_SERVICES: Final = tuple(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Azure, Google Cloud, OpenStack and others
        "169.254.170.2",  # AWS, containers
        "169.254.170.23",  # AWS, pods
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",  # AWS, pods
        "fd20:ce::254",  # Google Cloud
        "100.100.100.200",  # Alibaba Cloud
        "192.0.0.192",  # Oracle Cloud
        "168.63.129.16",  # Azure, host agent
    )
)
"""Metadata services of cloud providers, which give credentials to the host."""


class NamespaceError(Exception):
    """A network namespace could not be created or joined."""


class GuestNetwork:
    """The guest's network namespace, to which this process has moved."""

    def __init__(self, directory: Path, relay: Relay | None, pasta: int | None) -> None:
        self._directory = directory
        self._relay = relay
        self._pasta = pasta

    def start(self, notes: NotePublisher | None = None) -> tuple[bool, str]:
        """
        Start the DNS relay and wait until pasta has connected the namespace.

        Return whether ports are forwarded, and an error message if pasta failed. The relay's failures become notes.
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
    forbidden, relay = _inspect_host()
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
        for address in forbidden:
            kernel.prohibit_route(address)
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


def list_forbidden(addresses: Iterable[Address]) -> list[Address]:
    """Return the addresses that a guest must not reach: the host's own, and metadata services."""
    return [*(one for one in addresses if not one.is_link_local), *METADATA_SERVICES]


def _inspect_host() -> tuple[list[Address], Relay | None]:
    forbidden = list_forbidden(kernel.list_addresses())
    resolver = find_local_resolver(forbidden)
    return forbidden, Relay(resolver) if resolver is not None else None


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
