"""
Handle requests to a launcher process whose guest has started.

A request that fails is answered with an error message.
"""

import logging
import socket
from collections.abc import Callable, Mapping
from typing import Final

import libvirt
import libvirt_qemu

from virtshape.launcher.controlprotocol import (
    Answer,
    AttachVolume,
    Connect,
    DetachVolume,
    Kill,
    Pause,
    QueryFilesystems,
    QueryInterfaces,
    QueryOs,
    QueryUsers,
    Request,
    Reset,
    SetMemory,
    SetVcpus,
    SoftReboot,
    Status,
    Stop,
    Unpause,
    Watch,
)
from virtshape.launcher.guest.agent import read_filesystems, read_interfaces, read_os, read_users
from virtshape.launcher.guest.agentpoller import AgentPoller
from virtshape.launcher.guest.credentials import CredentialSync
from virtshape.launcher.guest.guest import Guest
from virtshape.launcher.guest.hotplug import HotplugError, set_memory, set_vcpus
from virtshape.launcher.guest.portforward import ForwardError, PortForwarder
from virtshape.launcher.guest.probes import Prober, ProbeWorkers, choose_address
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.guest.shutdown import GracefulShutdown
from virtshape.launcher.host import LOOPBACK
from virtshape.launcher.netns.blockedaddresses import list_addresses, list_blocked_addresses
from virtshape.launcher.netns.ports import PortKey
from virtshape.launcher.report import Report

TIMEOUT_SECONDS: Final = 10.0
_log = logging.getLogger(__name__)


class RequestHandler:
    """Handles requests about a guest that has started; thread-safe."""

    def __init__(
        self,
        guest: Guest,
        reports: ReportPublisher,
        shutdown: GracefulShutdown,
        chosen: Mapping[PortKey, int] | None = None,
    ) -> None:
        """Set up the handler; `chosen` maps listed ports to host ports; if None, any host port may be used."""
        self._guest = guest
        self._domain = guest.domain
        self._reports = reports
        self._shutdown = shutdown
        self._forwarding = PortForwarder(guest.plan, self._run_monitor_command, reports.report.ports, chosen)
        self._agent = AgentPoller(guest.domain, reports)
        self._credentials = CredentialSync(guest.plan.logins, guest.domain, reports)
        guest.on_agent = self._on_agent_connected

    def open_ports(self) -> None:
        """Open the ports that the instance lists and publish their host ports."""
        try:
            self._reports.publish(ports=tuple(self._forwarding.open_listed()))
        except libvirt.libvirtError as error:  # the guest has already stopped
            _log.info("forwarding the ports of the instance failed: %s; the guest has ended", error)

    def start_probes(self) -> None:
        """Start the probes; if the agent is already connected, start polling it and setting credentials."""
        prober = Prober(self._get_address, self._list_connections, self._run_agent_command)
        ProbeWorkers(self._guest.plan.checks, self._reports, prober.check, self._stop_unhealthy_guest).start()
        if self._reports.report.agent:
            self._on_agent_connected()

    def _on_agent_connected(self) -> None:
        self._agent.start()
        self._credentials.start()

    def answer(self, request: Request) -> Answer:
        """Execute a request and return its answer."""
        if self._reports.report.final and not isinstance(request, Status | Stop | Kill):
            return Answer(error="the guest has ended", report=self._reports.report)
        try:
            return self._execute(request)
        except (ForwardError, HotplugError) as error:
            return Answer(error=str(error), report=self._reports.report)
        except libvirt.libvirtError as error:
            _log.info("request %s failed: %s; returning the error to the client", type(request).__name__, error)
            return Answer(error=error.get_error_message() or str(error), report=self._reports.report)

    def connect(self, request: Connect) -> socket.socket:
        """Return a socket that is connected to a port of the guest; raise OSError if that fails."""
        if self._reports.report.final:
            raise ConnectionError("the guest has ended")
        try:
            here = self._forwarding.open(request.port, request.protocol, request.interface)
        except ForwardError as error:
            raise ConnectionError(str(error)) from error
        except libvirt.libvirtError as error:
            raise ConnectionError(error.get_error_message() or str(error)) from error
        kind = socket.SOCK_STREAM if request.protocol == "tcp" else socket.SOCK_DGRAM
        connection = socket.socket(socket.AF_INET, kind)
        connection.settimeout(TIMEOUT_SECONDS)
        try:
            connection.connect((LOOPBACK, here))
            connection.settimeout(None)  # the receiving process shares the flags and may expect a blocking socket
        except OSError:
            connection.close()
            raise
        return connection

    def _execute(self, request: Request) -> Answer:
        match request:
            case Status() | Watch():
                return self._report()
            case Stop(grace=grace):
                self._shutdown.request(grace)
                return self._report()
            case Kill():
                return self._kill()
            case Pause():
                return self._wait(self._guest.pause, lambda report: report.state == "paused")
            case Unpause():
                return self._wait(self._guest.unpause, lambda report: report.state == "running")
            case Reset():
                self._domain.reset()
                return self._report()
            case SoftReboot():
                self._domain.reboot()
                return self._report()
            case Connect():
                return Answer(error="connect requests need a socket that can pass file descriptors")
            case SetVcpus(count=count):
                set_vcpus(self._domain, count)
                return self._report()
            case SetMemory(size=size):
                set_memory(self._domain, size)
                return self._report()
            case AttachVolume(name=name):
                # Imported when a volume is attached, to keep the processes of other guests small.
                from virtshape.launcher.guest.volumehotplug import attach_volume

                attach_volume(self._domain, self._guest.layout, name)
                self._guest.publish_volumes()
                return self._report()
            case DetachVolume(name=name):
                from virtshape.launcher.guest.volumehotplug import detach_volume

                detach_volume(self._domain, name)
                self._guest.publish_volumes()
                return self._report()
            case QueryOs():
                return Answer(os=read_os(self._agent.query_system()))
            case QueryUsers():
                return Answer(users=read_users(self._agent.query(libvirt.VIR_DOMAIN_GUEST_INFO_USERS)))
            case QueryFilesystems():
                info = self._agent.query(libvirt.VIR_DOMAIN_GUEST_INFO_FILESYSTEM)
                return Answer(filesystems=read_filesystems(info))
            case QueryInterfaces():
                info = self._agent.query(libvirt.VIR_DOMAIN_GUEST_INFO_INTERFACES)
                return Answer(interfaces=read_interfaces(info))

    def _report(self) -> Answer:
        return Answer(report=self._reports.report)

    def _kill(self) -> Answer:
        self._guest.kill("kill")
        self._reports.wait_for(lambda report: report.final, TIMEOUT_SECONDS)
        return self._report()

    def _wait(self, act: Callable[[], object], holds: Callable[[Report], bool]) -> Answer:
        """Perform an action, and answer once the report shows its effect."""
        if holds(self._reports.report):
            return self._report()
        act()
        if not self._reports.wait_for(lambda report: holds(report) or report.final, TIMEOUT_SECONDS):
            return Answer(
                error=f"the guest did not change its state within {TIMEOUT_SECONDS:g} seconds",
                report=self._reports.report,
            )
        return self._report()

    def _run_monitor_command(self, command: str) -> str:
        flags = libvirt_qemu.VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP
        output: str = libvirt_qemu.qemuMonitorCommand(self._domain, command, flags)
        return output.strip()

    def _run_agent_command(self, message: str, seconds: float) -> str:
        if not self._reports.report.agent:
            raise ConnectionError("the guest agent is not connected")
        try:
            output: str = libvirt_qemu.qemuAgentCommand(self._domain, message, max(1, round(seconds)), 0)
        except libvirt.libvirtError as error:
            raise ConnectionError(error.get_error_message() or str(error)) from error
        return output

    def _get_address(self, port: int) -> tuple[str, int]:
        """Return the address of a guest port: a forwarded port on loopback, or the guest's own address."""
        if self._guest.plan.netdevs:
            try:
                return LOOPBACK, self._forwarding.open(port, "tcp")
            except (ForwardError, libvirt.libvirtError) as error:
                raise ConnectionError(str(error)) from error
        known = [address for one in self._reports.report.interfaces for address in one.addresses]
        return choose_address(known, list_blocked_addresses(list_addresses())), port

    def _list_connections(self) -> str:
        try:
            return self._run_monitor_command("info usernet") if self._guest.plan.netdevs else ""
        except libvirt.libvirtError as error:
            raise ConnectionError(str(error)) from error

    def _stop_unhealthy_guest(self, message: str) -> None:
        self._guest.evidence.liveness_failure = message
        self._shutdown.request(self._guest.plan.grace)
