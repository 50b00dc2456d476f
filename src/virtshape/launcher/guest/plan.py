"""The plan for a guest: everything that a launcher process needs to run the prepared guest, without secrets."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from virtshape.api.wellknown import DEFAULT_GRACE_SECONDS
from virtshape.launcher.domain.devices.interface import Forward
from virtshape.launcher.host import LOOPBACK
from virtshape.launcher.report import Note


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A periodic check of a guest."""

    way: Literal["tcp", "http", "exec", "ping"]
    """How to check: TCP connection, HTTP request, command run by the guest agent, or ping of the guest agent."""
    port: int = 0
    host: str = ""
    """Host to connect to; empty for the guest."""
    path: str = "/"
    secure: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    command: tuple[str, ...] = ()
    delay: float = 0.0
    """Seconds from the guest's start to the first check."""
    period: float = 10.0
    timeout: float = 1.0
    successes: int = 1
    """Consecutive successes until the guest is healthy."""
    failures: int = 3
    """Consecutive failures until the guest is unhealthy."""


class Checks(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The checks of a guest."""

    readiness: Check | None = None
    """The check whether the guest is ready."""
    liveness: Check | None = None
    """The check whether the guest is alive; the guest is stopped if this check fails."""


class Login(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The files of one secret with keys or passwords, and the users that they are for."""

    directory: str
    users: tuple[str, ...] = ()
    """Users that get the files as authorized keys; if empty, each file is a password, and its name is the user."""


class Plan(Struct, frozen=True, kw_only=True):
    """The plan for one guest, which is ready to start."""

    name: str
    """Domain name."""
    xml: str
    paused: bool = False
    """Whether the guest starts with its CPUs paused."""
    grace: float = float(DEFAULT_GRACE_SECONDS)
    """Seconds that the guest has for its shutdown if a signal or the liveness probe stops it."""
    checks: Checks = Checks()
    """Readiness and liveness probes."""
    logins: tuple[Login, ...] = ()
    """Keys and passwords that the guest agent sets."""
    accelerator: Literal["kvm", "tcg"] = "tcg"
    notes: tuple[Note, ...] = ()
    addresses: Mapping[str, tuple[str, ...]] = {}
    """Addresses that user-mode networking assigns, by interface name."""
    netdevs: Mapping[str, str] = {}
    """QEMU netdev IDs of interfaces whose ports can be forwarded, by interface name."""
    port_address: str = LOOPBACK
    """Host address on which the ports in `forwards` are opened."""
    forwards: Mapping[str, tuple[Forward, ...]] = {}
    """Ports that may be forwarded, by interface name; an interface that is not listed has no restriction."""
