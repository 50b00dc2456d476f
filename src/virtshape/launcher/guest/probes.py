"""Run readiness and liveness probes (tcpSocket, httpGet, exec, guestAgentPing) periodically."""

import contextlib
import json
import logging
import socket
import time
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

from msgspec import Struct

from virtshape.api.model import JsonObject
from virtshape.launcher.guest.plan import Check, Checks
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.threads import start_thread

_log = logging.getLogger(__name__)
POLL_SECONDS: Final = 0.05
_MAX_MESSAGE_LENGTH: Final = 200
_ESTABLISHED: Final = "TCP[ESTABLISHED]"
_FORWARD: Final = "TCP[HOST_FORWARD]"

Address = IPv4Address | IPv6Address
FindAddress = Callable[[int], tuple[str, int]]
"""Returns the host and port to connect to for a guest port; raises ConnectionError if the guest cannot be reached."""
ListConnections = Callable[[], str]
"""Returns QEMU's list of user-mode connections; empty if the guest has another kind of network."""
AgentCommand = Callable[[str, float], str]
"""Sends a command to the guest agent, with a timeout in seconds; returns the response, or raises OSError."""


class Tally(Struct):
    """Counts probe results, and changes its state when a threshold is reached."""

    check: Check
    well: bool
    against: int = 0

    def count(self, *, well: bool) -> None:
        """Count one result."""
        self.against = self.against + 1 if well != self.well else 0
        if self.against >= (self.check.successes if well else self.check.failures):
            self.well, self.against = well, 0


class ProbeWorkers:
    """Publishes the guest's readiness and calls back when its liveness probe fails."""

    def __init__(
        self,
        checks: Checks,
        reports: ReportPublisher,
        ask: Callable[[Check], str],
        on_liveness_failure: Callable[[str], None],
    ) -> None:
        self._checks = checks
        self._reports = reports
        self._require_guest = ask
        self._on_liveness_failure = on_liveness_failure

    def start(self) -> None:
        """Start a thread for each probe. A thread exits when the guest stops or the liveness probe fails."""
        for name, check, follow in (
            ("readiness", self._checks.readiness, self._run_readiness),
            ("liveness", self._checks.liveness, self._run_liveness),
        ):
            if check is not None:
                start_thread(
                    partial(follow, check), f"the {name} probe", field=f"spec.{name}Probe", notes=self._reports
                )

    def _run_readiness(self, check: Check) -> None:
        tally = Tally(check, well=not self._reports.report.unready)
        for problem in self._iterate_results(check):
            tally.count(well=not problem)
            if tally.well:
                self._reports.publish(unready="")
            elif problem:
                self._reports.publish(unready=f"readiness probe failed: {problem}")

    def _run_liveness(self, check: Check) -> None:
        tally = Tally(check, well=True)
        for problem in self._iterate_results(check):
            tally.count(well=not problem)
            if not tally.well:
                _log.warning("liveness probe failed: %s; stopping the guest", problem)
                self._on_liveness_failure(problem)
                return

    def _iterate_results(self, check: Check) -> Iterator[str]:
        """Yield the result of each probe: an error message, or an empty string on success."""
        seconds = check.delay
        while not self._reports.wait_for(lambda report: report.final, seconds):
            seconds = check.period
            if self._reports.report.state == "running":
                yield self._require_guest(check)


class Prober:
    """Executes probes."""

    def __init__(
        self, find_address: FindAddress, list_connections: ListConnections, run_agent_command: AgentCommand
    ) -> None:
        self._get_address = find_address
        self._list_connections = list_connections
        self._run_agent_command = run_agent_command

    def check(self, check: Check) -> str:
        """Perform a check; return an error message, or an empty string on success."""
        try:
            match check.way:
                case "tcp":
                    return self._connect(check)
                case "http":
                    return self._request(check)
                case "exec":
                    return self._execute(check)
                case "ping":
                    self._run_command("guest-ping", {}, check.timeout)
                    return ""
        except TimeoutError:
            return f"no answer within {check.timeout:g} seconds"
        except (OSError, ValueError, KeyError, TypeError) as error:
            return str(error)[:_MAX_MESSAGE_LENGTH] or type(error).__name__

    def _locate(self, check: Check) -> tuple[str, int]:
        return (check.host, check.port) if check.host else self._get_address(check.port)

    def _connect(self, check: Check) -> str:
        host, port = self._locate(check)
        deadline = time.monotonic() + check.timeout
        with socket.create_connection((host, port), check.timeout) as connection:
            if check.host:
                return ""
            connection.settimeout(POLL_SECONDS)
            while not self._is_guest_connected(port):
                if time.monotonic() > deadline:
                    raise TimeoutError
                if _is_closed(connection):
                    return f"the guest does not listen on port {check.port}"
            return ""

    def _is_guest_connected(self, here: int) -> bool:
        """Return True if the guest itself, and not only QEMU, has accepted the connection."""
        connections = self._list_connections()
        if not connections:
            return True
        for line in connections.splitlines():
            state, *facts = line.split()
            if state.startswith("TCP[") and state != _FORWARD and facts[2:3] == [str(here)]:
                return state == _ESTABLISHED  # QEMU lists the latest connection first
        return False

    def _request(self, check: Check) -> str:
        # Imported here to keep launcher processes small: few guests have HTTP probes.
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        host, port = self._locate(check)
        connection = HTTPConnection(host, port, timeout=check.timeout)
        if check.secure:
            connection = HTTPSConnection(host, port, timeout=check.timeout, context=_build_unverified_context())
        try:
            connection.putrequest("GET", check.path)
            for name, value in check.headers:
                connection.putheader(name, value)
            connection.endheaders()
            status = connection.getresponse().status
        except HTTPException as error:
            # The error's text may quote a response from another server.
            return f"invalid HTTP response: {type(error).__name__}"
        finally:
            connection.close()
        return "" if 200 <= status < 400 else f"HTTP probe failed with statuscode: {status}"

    def _execute(self, check: Check) -> str:
        program, *arguments = check.command
        deadline = time.monotonic() + check.timeout
        started = self._run_command(
            "guest-exec", {"path": program, "arg": arguments, "capture-output": True}, check.timeout
        )
        while True:
            state = self._run_command("guest-exec-status", {"pid": started["pid"]}, check.timeout)
            if state["exited"]:
                break
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(POLL_SECONDS)
        if state.get("exitcode") == 0:
            return ""
        output = b64decode(state.get("err-data") or state.get("out-data") or "").decode(errors="replace").strip()
        result = f"ended by signal {state['signal']}" if "signal" in state else f"exit code {state.get('exitcode')}"
        return f"{program}: {result}{': ' + output if output else ''}"[:_MAX_MESSAGE_LENGTH]

    def _run_command(self, command: str, arguments: JsonObject, seconds: float) -> Any:
        message: JsonObject = {"execute": command, "arguments": arguments} if arguments else {"execute": command}
        return json.loads(self._run_agent_command(json.dumps(message), seconds))["return"]


def choose_address(reported: Iterable[str], forbidden: Collection[Address]) -> str:
    """Return the first reported address that can belong to the guest; raise ConnectionError if there is none."""
    for text in reported:
        with contextlib.suppress(ValueError):
            address: Address = ip_address(text.partition("%")[0])
            address = getattr(address, "ipv4_mapped", None) or address
            special = address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified
            if not special and address not in forbidden:
                return str(address)
    raise ConnectionError("the guest's address is unknown: install the QEMU guest agent in the guest")


def _build_unverified_context() -> Any:
    """Return a TLS context that accepts any certificate, as the kubelet does for probes."""
    import ssl

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _is_closed(connection: socket.socket) -> bool:
    """Return True if the peer closes the connection within the socket's timeout."""
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except TimeoutError:
        return False
    except OSError:
        return True
