"""
What a launcher process does when it is asked to.

One short method a request; a request that cannot be met is answered with words, never with silence.
"""

import logging
import socket
from collections.abc import Callable, Mapping
from typing import Final

import libvirt
import libvirt_qemu

from virtshape.launcher.guest.agent import read_filesystems, read_interfaces, read_os, read_users
from virtshape.launcher.guest.board import Board
from virtshape.launcher.guest.forwarding import ForwardError, Forwarding
from virtshape.launcher.guest.growing import find_room, write_device
from virtshape.launcher.guest.guest import Guest
from virtshape.launcher.guest.lettingin import LettingIn
from virtshape.launcher.guest.looking import Looking
from virtshape.launcher.guest.probing import Probing
from virtshape.launcher.guest.questions import Questions
from virtshape.launcher.guest.stopping import Stopping
from virtshape.launcher.host import LOOPBACK
from virtshape.launcher.netns.ports import PortKey
from virtshape.launcher.report import Report
from virtshape.launcher.request import (
    Answer,
    AskFilesystems,
    AskInterfaces,
    AskOs,
    AskUsers,
    Connect,
    Kill,
    Pause,
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

PATIENCE_SECONDS: Final = 10.0
_KIB: Final = 1024
_log = logging.getLogger(__name__)


class Answering:
    """Answers requests about a guest that has started; safe to use from any thread."""

    def __init__(
        self, guest: Guest, board: Board, stopping: Stopping, chosen: Mapping[PortKey, int] | None = None
    ) -> None:
        """`chosen` are the only ports that named ports of the guest may have."""
        self._guest = guest
        self._domain = guest.domain
        self._board = board
        self._stopping = stopping
        self._forwarding = Forwarding(guest.plan, self._tell_monitor, board.report.ports, chosen)
        self._looking = Looking(guest.domain, board)
        self._letting_in = LettingIn(guest.plan.logins, guest.domain, board)
        guest.on_agent = self._greet_agent

    def open_ports(self) -> None:
        """Open the ports that the instance names, and tell where they are."""
        try:
            self._board.post(ports=tuple(self._forwarding.open_named()))
        except libvirt.libvirtError as error:  # it has ended already
            _log.info("no ports are opened: %s", error)

    def begin_asking(self) -> None:
        """Find out from now on how the guest is: by its probes, and by its agent, which may be there already."""
        questions = Questions(self._find_address, self._list_connections, self._tell_agent)
        Probing(self._guest.plan.checks, self._board, questions.ask, self._give_up).begin()
        if self._board.report.agent:
            self._greet_agent()

    def _greet_agent(self) -> None:
        self._looking.begin()
        self._letting_in.begin()

    def answer(self, request: Request) -> Answer:
        """Do what is asked."""
        if self._board.report.final and not isinstance(request, Status | Stop | Kill):
            return Answer(error="the guest has ended", report=self._board.report)
        try:
            return self._do(request)
        except ForwardError as error:
            return Answer(error=str(error), report=self._board.report)
        except libvirt.libvirtError as error:
            _log.info("%s: %s", type(request).__name__, error)
            return Answer(error=error.get_error_message() or str(error), report=self._board.report)

    def connect(self, request: Connect) -> socket.socket:
        """Connect to a port of the guest; ConnectionError if that cannot be."""
        if self._board.report.final:
            raise ConnectionError("the guest has ended")
        try:
            here = self._forwarding.open(request.port, request.protocol, request.interface)
        except ForwardError as error:
            raise ConnectionError(str(error)) from error
        except libvirt.libvirtError as error:
            raise ConnectionError(error.get_error_message() or str(error)) from error
        kind = socket.SOCK_STREAM if request.protocol == "tcp" else socket.SOCK_DGRAM
        connection = socket.socket(socket.AF_INET, kind)
        connection.settimeout(PATIENCE_SECONDS)
        try:
            connection.connect((LOOPBACK, here))
        except OSError:
            connection.close()
            raise
        return connection

    def _do(self, request: Request) -> Answer:
        match request:
            case Status() | Watch():
                return self._tell()
            case Stop(grace=grace):
                self._stopping.ask(grace)
                return self._tell()
            case Kill():
                return self._kill()
            case Pause():
                return self._wait(self._guest.pause, lambda report: report.state == "paused")
            case Unpause():
                return self._wait(self._domain.resume, lambda report: report.state == "running")
            case Reset():
                self._domain.reset()
                return self._tell()
            case SoftReboot():
                self._domain.reboot()
                return self._tell()
            case Connect():
                return Answer(error="a connection needs a socket that it can be sent over")
            case SetVcpus(count=count):
                self._domain.setVcpusFlags(count, libvirt.VIR_DOMAIN_AFFECT_LIVE)
                return self._tell()
            case SetMemory(size=size):
                return self._set_memory(size)
            case AskOs():
                return Answer(os=read_os(self._looking.ask_system()))
            case AskUsers():
                return Answer(users=read_users(self._looking.ask(libvirt.VIR_DOMAIN_GUEST_INFO_USERS)))
            case AskFilesystems():
                told = self._looking.ask(libvirt.VIR_DOMAIN_GUEST_INFO_FILESYSTEM)
                return Answer(filesystems=read_filesystems(told))
            case AskInterfaces():
                told = self._looking.ask(libvirt.VIR_DOMAIN_GUEST_INFO_INTERFACES)
                return Answer(interfaces=read_interfaces(told))

    def _tell(self) -> Answer:
        return Answer(report=self._board.report)

    def _kill(self) -> Answer:
        self._guest.kill("kill")
        self._board.wait_for(lambda report: report.final, PATIENCE_SECONDS)
        return self._tell()

    def _wait(self, act: Callable[[], object], holds: Callable[[Report], bool]) -> Answer:
        """Act, and answer once the report shows it."""
        if holds(self._board.report):
            return self._tell()
        act()
        if not self._board.wait_for(lambda report: holds(report) or report.final, PATIENCE_SECONDS):
            return Answer(error="the guest does not react", report=self._board.report)
        return self._tell()

    def _tell_monitor(self, command: str) -> str:
        flags = libvirt_qemu.VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP
        said: str = libvirt_qemu.qemuMonitorCommand(self._domain, command, flags)
        return said.strip()

    def _tell_agent(self, words: str, seconds: float) -> str:
        if not self._board.report.agent:
            raise ConnectionError("the guest has no agent, or it has not begun to answer yet")
        try:
            said: str = libvirt_qemu.qemuAgentCommand(self._domain, words, max(1, round(seconds)), 0)
        except libvirt.libvirtError as error:
            raise ConnectionError(error.get_error_message() or str(error)) from error
        return said

    def _find_address(self, port: int) -> tuple[str, int]:
        """Where a port of the guest is: behind the machine's loopback address, or in a network of the guest's own."""
        if self._guest.plan.netdevs:
            try:
                return LOOPBACK, self._forwarding.open(port, "tcp")
            except (ForwardError, libvirt.libvirtError) as error:
                raise ConnectionError(str(error)) from error
        known = [address for one in self._board.report.interfaces for address in one.addresses]
        if not known:
            raise ConnectionError("nobody knows the guest's address: an agent in it could tell")
        return known[0], port

    def _list_connections(self) -> str:
        try:
            return self._tell_monitor("info usernet") if self._guest.plan.netdevs else ""
        except libvirt.libvirtError as error:
            raise ConnectionError(str(error)) from error

    def _give_up(self, words: str) -> None:
        self._guest.clues.unwell = words
        self._stopping.ask(self._guest.plan.grace)

    def _set_memory(self, size: int) -> Answer:
        room, wanted = find_room(self._domain.XMLDesc(0)), size // _KIB
        if room is None:
            return Answer(error="the guest was started with no room for more memory", report=self._board.report)
        if not room.least <= wanted <= room.most:
            words = f"the guest can have between {room.least // _KIB} and {room.most // _KIB} MiB of memory"
            return Answer(error=words, report=self._board.report)
        change = self._domain.updateDeviceFlags if room.alias else self._domain.attachDeviceFlags
        change(write_device(room, wanted), libvirt.VIR_DOMAIN_AFFECT_LIVE)
        return self._tell()
