"""
Supervise the guests of this host. Each guest has a launcher process, which outlives the supervisor.

The supervisor starts guests, finds running guests after a restart, watches their reports, and cleans up after guests.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from virtshape.api.codec import encode
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.launcher.controlprotocol import Answer, Connect, Kill, Request, Stop
from virtshape.launcher.guest.responsiveness import CHECK_SECONDS, is_stopped
from virtshape.launcher.host import Host
from virtshape.launcher.launchrequest import LaunchRequest
from virtshape.launcher.layout import Layout
from virtshape.launcher.netns.kernel import has_default_route
from virtshape.launcher.netns.probe import NO_ROUTE
from virtshape.launcher.node import controlclient
from virtshape.launcher.node.access import grant_access, list_external_paths, revoke_access
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.forkserver import ForkServer
from virtshape.launcher.node.gueststate import (
    find_launch_request,
    find_pasta,
    find_qemu,
    find_report,
    is_alive,
    mark_lost,
)
from virtshape.launcher.node.process import reap
from virtshape.launcher.node.taps import list_taps, make_taps, remove_tap
from virtshape.launcher.report import Report
from virtshape.supervise.supervisor import Run, SupervisedTask, Supervisor
from virtshape.supervise.tasks import GUESTS

LAUNCHER: Final = "virtshape.launcher.guest.run"
MAX_TAKEOVERS: Final = 3
"""Maximum number of times that a lost launcher process is replaced while its guest runs."""
BRIDGED: Final = (
    "other interfaces of the guest are connected to bridges of the host, which a network namespace cannot reach"
)
STOP_MARGIN_SECONDS: Final = 15.0
"""Time after the grace period before the processes of a guest that does not stop are killed."""
STOP_ANSWER_SECONDS: Final = 5.0
"""How long a launcher process may take to answer a stop request, for which it does not wait for QEMU."""
POLL_SECONDS: Final = 0.02
TIMEOUT_SECONDS: Final = 10.0
Observer = Callable[[str, Report], None]
_REMOVED: Final = Report(state="failed")
_LAUNCHER_STOPPED: Final = "the guest's launcher process is stopped by a signal: process {pid} continues after SIGCONT"
_log = logging.getLogger(__name__)


class Guests:
    """
    All guests in one data directory; every call is idempotent.

    Launcher processes are forked from a fork server, unless `use_forkserver` is False.
    """

    def __init__(
        self,
        directories: GuestDirectories,
        host: Host,
        supervisor: Supervisor,
        *,
        launcher: str = LAUNCHER,
        use_forkserver: bool = True,
    ) -> None:
        self._directories = directories
        self._host = host
        self._observers: list[Observer] = []
        self._reports: dict[str, Report] = {}
        self._supervisor = supervisor
        self._tasks: dict[str, SupervisedTask] = {}
        self._pids: dict[str, int | None] = {}
        """The pid of each guest's launcher process."""
        self._stop_deadlines: dict[str, float] = {}
        """When to kill the processes of each guest that was asked to stop, as monotonic time."""
        self._killed_after: dict[str, float] = {}
        """The grace period in seconds of each guest that did not stop and whose processes were killed."""
        self._forkserver = ForkServer(launcher, directories.forkserver_log if use_forkserver else None)

    def adopt(self) -> None:
        """Adopt the guests of an earlier supervisor, whether they run or not; clean up guests that never started."""
        self._forkserver.open()
        self._directories.remove_dangling_links()
        for uid in self._directories.list_guests():
            if uid in self._reports:
                continue
            report = find_report(self._directories.get_layout(uid))
            if report is None:  # the guest never started, and can be started again
                self._clean_up(uid)
                continue
            self._directories.make(uid)
            self._reports[uid] = report
            self._pids[uid] = report.launcher_pid
            self._watch(uid, self.find_launch_request(uid), partial(self._follow, uid))

    def observe(self, observer: Observer) -> None:
        """Call an observer with each new report."""
        self._observers.append(observer)

    def find(self, uid: str) -> Report | None:
        """Return a guest's latest report, or None if it was never started."""
        return self._reports.get(uid)

    def find_launch_request(self, uid: str) -> LaunchRequest | None:
        """Return a guest's launch request, or None if it was never started."""
        return find_launch_request(self._directories.get_layout(uid))

    async def start(
        self,
        uid: str,
        vmi: VirtualMachineInstance,
        mounts: Mapping[str, str],
        *,
        assigned_cpus: tuple[int, ...] = (),
        state_directory: str | None = None,
        host_disk_roots: tuple[str, ...] = (),
        bridges: Mapping[str, str] | None = None,
        isolated: bool = True,
    ) -> None:
        """
        Start a guest unless it was started before; raise TapError if a network cannot be connected.

        A guest that is not isolated can reach the host's loopback address, and through it other guests' ports.
        """
        if uid in self._reports:
            return
        launch_request = LaunchRequest(
            vmi=vmi,
            mounts=mounts,
            host=self._describe_host(vmi, bridges or {}, isolated=isolated),
            assigned_cpus=assigned_cpus,
            state_directory=state_directory,
            host_disk_roots=host_disk_roots,
        )
        layout = self._directories.make(uid)
        account = self._directories.get_account(uid)
        grant_access(launch_request, self._directories.data, account, self._directories.list_users() - {account.user})
        self._directories.write(layout.launch_request, encode(launch_request))
        make_taps(list_taps(vmi, launch_request.host), account)
        self._reports[uid] = Report()
        self._watch(uid, launch_request, partial(self._run_new, uid, layout, launch_request))

    async def ask(self, uid: str, request: Request) -> Answer:
        """Send a request to a guest; failures are returned as an answer with an error."""
        report = self._reports.get(uid)
        if report is None or report.final:
            return Answer(error="the guest is not running", report=report)
        try:
            return await self._send(uid, request)
        except (OSError, ValueError) as error:
            return Answer(error=f"the guest's launcher process does not answer: {error}", report=self.find(uid))

    async def connect(self, uid: str, request: Connect) -> socket.socket:
        """Return a socket that is connected to a port of a guest; raise OSError if that fails."""
        report = self._reports.get(uid)
        if report is None or report.final:
            raise ConnectionError("the guest is not running")
        return await asyncio.to_thread(controlclient.open_connection, self._directories.get_layout(uid).socket, request)

    async def stop(self, uid: str, grace: float) -> None:
        """
        Shut a guest down; kill the guest after the grace period in seconds.

        The launcher process kills QEMU. If the guest still runs STOP_MARGIN_SECONDS later, a repeated call kills the
        processes of the guest, because one of them does not respond.
        """
        now = time.monotonic()
        deadline = min(self._stop_deadlines.get(uid, float("inf")), now + grace + STOP_MARGIN_SECONDS)
        self._stop_deadlines[uid] = deadline
        if now >= deadline:
            self._kill_processes(uid, grace)
            return
        with contextlib.suppress(TimeoutError):  # the launcher process does not respond
            async with asyncio.timeout(STOP_ANSWER_SECONDS):
                await self.ask(uid, Stop(grace=grace))

    async def remove(self, uid: str) -> None:
        """Kill a guest and remove everything that belongs to it."""
        if uid in self._tasks:
            await self.ask(uid, Kill())
            watch = self._tasks.pop(uid)
            await asyncio.wait({watch.task}, timeout=TIMEOUT_SECONDS)
            await watch.stop()
        self._pids.pop(uid, None)
        self._stop_deadlines.pop(uid, None)
        self._killed_after.pop(uid, None)
        layout = self._directories.get_layout(uid)
        _kill(self._reports.pop(uid, Report()).launcher_pid, layout)
        _kill(find_qemu(layout), layout)
        _kill(find_pasta(layout), layout)
        self._clean_up(uid)

    async def close(self) -> None:
        """Stop watching the guests, which keep running."""
        await asyncio.gather(*(watch.stop() for watch in self._tasks.values()))
        self._tasks.clear()
        await self._forkserver.close()

    def _watch(self, uid: str, launch_request: LaunchRequest | None, run: Run) -> None:
        item = _name(uid, launch_request)
        self._tasks[uid] = self._supervisor.start(GUESTS, run, item=item, finishes=True)

    def _describe_host(self, vmi: VirtualMachineInstance, bridges: Mapping[str, str], *, isolated: bool) -> Host:
        """Return the host with the bridges and the network isolation for one guest."""
        host = replace(self._host, bridges=bridges)
        if not isolated:
            return replace(host, isolation="none", isolation_reason="")
        if host.isolation != "namespace":
            return host
        if list_taps(vmi, host):
            return replace(host, isolation="restricted", isolation_reason=BRIDGED)
        if not has_default_route():
            return replace(host, isolation="restricted", isolation_reason=NO_ROUTE)
        return host

    def _clean_up(self, uid: str) -> None:
        """Remove the tap devices, access rights and directory of a guest that no longer runs."""
        launch_request = self.find_launch_request(uid)
        for interface in list_taps(launch_request.vmi, launch_request.host) if launch_request is not None else ():
            remove_tap(interface.device or "")
        if launch_request is not None:
            revoke_access(launch_request, self._directories.data, self._directories.get_account(uid))
        self._directories.remove(uid)

    async def _spawn(self, uid: str, layout: Layout, launch_request: LaunchRequest) -> int:
        reach = (str(layout.directory), str(self._directories.libvirt_cache), *list_external_paths(launch_request))
        return await self._forkserver.start(layout.directory, layout.log, self._directories.get_account(uid), reach)

    async def _run_new(self, uid: str, layout: Layout, launch_request: LaunchRequest) -> None:
        """Start a guest unless it was started before, and watch it until it stops."""
        if uid not in self._pids:
            try:
                self._pids[uid] = await self._spawn(uid, layout, launch_request)
            except OSError as error:
                message = f"starting the guest's launcher process failed: {error}"
                self._publish(uid, Report(state="failed", reason="NotStarted", message=message))
                return
        await self._follow(uid)

    async def _follow(self, uid: str) -> None:
        """Watch a guest until it stops; replace a launcher process that is lost while its guest runs."""
        layout = self._directories.get_layout(uid)
        for _ in range(MAX_TAKEOVERS + 1):
            await self._listen(uid, layout, self._pids[uid])
            report = find_report(layout) or self._reports[uid]
            if report.state not in ("running", "paused") or uid in self._killed_after or find_qemu(layout) is None:
                break
            launch_request = self.find_launch_request(uid)
            _log.warning("guest %s: launcher process was lost; starting another one", _name(uid, launch_request))
            self._pids[uid] = await self._spawn(uid, layout, launch_request) if launch_request is not None else None
        _kill(find_pasta(layout), layout)
        if not report.final:
            _kill(find_qemu(layout), layout)
            report = mark_lost(report, layout) if uid not in self._killed_after else self._mark_killed(uid, report)
            self._directories.write(layout.report, encode(report))
        self._publish(uid, report)

    def _kill_processes(self, uid: str, grace: float) -> None:
        """Kill the launcher process first, so that it cannot report the end of QEMU as a crash; then `_follow` ends."""
        layout = self._directories.get_layout(uid)
        _log.warning(
            "guest %s: did not stop within %g seconds; killing its processes",
            _name(uid, self.find_launch_request(uid)),
            grace + STOP_MARGIN_SECONDS,
        )
        self._killed_after[uid] = grace
        for pid in (self._pids.get(uid), find_qemu(layout), find_pasta(layout)):
            _kill(pid, layout)

    def _mark_killed(self, uid: str, report: Report) -> Report:
        seconds = self._killed_after[uid] + STOP_MARGIN_SECONDS
        message = f"the guest did not stop within {seconds:g} seconds and its processes were killed"
        return replace(report, state="failed", reason="GracePeriodExpired", message=message, agent=False)

    async def _listen(self, uid: str, layout: Layout, pid: int | None) -> None:
        """Publish the reports of the launcher process until it exits."""
        check = asyncio.create_task(self._check_launcher(uid, pid)) if pid is not None else None
        try:
            while True:
                with contextlib.suppress(OSError, ValueError):  # the socket is not open, or a report is invalid
                    async for report in controlclient.watch_reports(layout.socket):
                        self._publish(uid, report)
                if not is_alive(pid, layout):
                    reap(pid)
                    return
                await asyncio.sleep(POLL_SECONDS)
        finally:
            if check is not None:
                check.cancel()

    async def _check_launcher(self, uid: str, pid: int) -> None:
        """Publish that the launcher process is stopped, until it continues; it cannot report that itself."""
        message, own_message = _LAUNCHER_STOPPED.format(pid=pid), ""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            report = self._reports[uid]
            is_reported = report.unresponsive == message
            if is_stopped(pid) and not is_reported:
                own_message = report.unresponsive
                self._publish(uid, replace(report, unresponsive=message))
            elif is_reported and not is_stopped(pid):
                self._publish(uid, replace(report, unresponsive=own_message))

    async def _send(self, uid: str, request: Request) -> Answer:
        """Send a request to a launcher process, which may not listen yet."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            try:
                return await controlclient.send_request(self._directories.get_layout(uid).socket, request)
            except (FileNotFoundError, ConnectionRefusedError):
                if self._reports.get(uid, _REMOVED).final or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(POLL_SECONDS)

    def _publish(self, uid: str, report: Report) -> None:
        if self._reports.get(uid) == report:
            return
        self._reports[uid] = report
        for observer in self._observers:
            observer(uid, report)


def _name(uid: str, launch_request: LaunchRequest | None) -> str:
    """Return the namespace and name of a guest's instance, or its uid if they are unknown."""
    if launch_request is None:
        return uid
    metadata = launch_request.vmi.metadata
    return f"{metadata.namespace}/{metadata.name}"


def _kill(pid: int | None, layout: Layout) -> None:
    """Kill a process of this guest if it still runs."""
    if pid is not None and is_alive(pid, layout):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    reap(pid)
