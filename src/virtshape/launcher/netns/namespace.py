"""
Entering a network namespace: a launcher process makes one for its guest, or joins that of a guest that runs already.

The namespace belongs to a user namespace of the process's own user, so that no privileges are needed. Its loopback is
private, pasta connects it to the outside, and routes keep it from the machine's own addresses.
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

METADATA_SERVICES: Final = tuple(map(ipaddress.ip_address, ("169.254.169.254", "169.254.170.2", "fd00:ec2::254")))
"""Where cloud providers hand credentials to a machine: not meant for its guests."""


class NamespaceError(Exception):
    """A network namespace that cannot be made or joined, and why."""


class GuestNetwork:
    """The network namespace that this process is in."""

    def __init__(self, directory: Path, relay: Relay | None, pasta: int | None) -> None:
        self._directory = directory
        self._relay = relay
        self._pasta = pasta

    def start(self) -> tuple[bool, str]:
        """
        Wait until the namespace is connected, and start the threads that it needs.

        Return whether the given ports are forwarded, and why there is no way to the outside, if there is none.
        """
        if self._relay is not None:
            self._relay.start()
        if self._pasta is None:
            return False, ""
        status = os.waitstatus_to_exitcode(os.waitpid(self._pasta, 0)[1])
        if status == FAILED or status < 0:
            return False, read_failure(self._directory) or "pasta does not start"
        return status == STARTED, ""

    def close(self) -> None:
        """End pasta, whose guest has ended."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((self._directory / PID_FILE).read_text()), signal.SIGTERM)


def enter_namespace(directory: Path, forwards: Sequence[PortForward]) -> GuestNetwork:
    """Move this process, which has one thread, into a new network namespace."""
    user, group = os.geteuid(), os.getegid()
    forbidden, relay = _look_outside()
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
        raise NamespaceError(f"no network namespace can be made for the guest: {error}") from error
    os.close(writer)
    return GuestNetwork(directory, relay, pasta)


def join_namespace(directory: Path, process: int) -> GuestNetwork:
    """Move this process, which has one thread, into the namespaces of a guest's QEMU."""
    _, relay = _look_outside()
    try:
        kernel.allow_inspection()
        kernel.set_namespace(f"/proc/{process}/ns/user", kernel.CLONE_NEWUSER)
        kernel.set_namespace(f"/proc/{process}/ns/net", kernel.CLONE_NEWNET)
        if relay is not None:
            relay.open(directory)
        kernel.drop_capabilities()
    except OSError as error:
        raise NamespaceError(f"the network namespace of the guest cannot be joined: {error}") from error
    return GuestNetwork(directory, relay, None)


def list_forbidden(addresses: Iterable[Address]) -> list[Address]:
    """Return what a guest must not reach: the machine's own addresses, and services that trust the machine."""
    return [*(one for one in addresses if not one.is_link_local), *METADATA_SERVICES]


def _look_outside() -> tuple[list[Address], Relay | None]:
    forbidden = list_forbidden(kernel.list_addresses())
    resolver = find_local_resolver(forbidden)
    return forbidden, Relay(resolver) if resolver is not None else None


def _open_relay(relay: Relay | None, directory: Path) -> None:
    if relay is not None:
        kernel.bind_mount(str(relay.open(directory)), str(RESOLVERS))


def _wait_and_run_pasta(reader: int, directory: Path, process: int, forwards: Sequence[PortForward]) -> None:
    """Run in the child: start pasta once the namespace is there; nothing if it never is."""
    try:
        if os.read(reader, 1):
            run_pasta(directory, process, forwards)
    finally:
        os._exit(FAILED)
