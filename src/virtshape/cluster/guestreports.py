"""
Reports of the launchers in pods, which the controller reads with exec.

A report is read when the guest starts and when its pod changes, and then at growing intervals, because each exec starts
a process in the pod. Pods need no permission and no open port for these reports.
"""

import logging
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from virtshape.api.core.podspec import Pod
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.launcherpod import REPORT_COMMAND
from virtshape.api.status import StatusError
from virtshape.client.errors import UnreachableError
from virtshape.controllers.pods.naming import CONTAINER, PAUSED_ANNOTATION
from virtshape.controllers.runtime.loop import DONE, Loop, Name, Result
from virtshape.controllers.vmi.gueststatus import GuestStatus
from virtshape.controllers.vmi.launcher import Wake
from virtshape.daemon.guestreports import LOOPBACK, read_report
from virtshape.launcher.report import Report

FIRST_SECONDS: Final = 5.0
MAX_SECONDS: Final = 600.0
WORKERS: Final = 4
_log = logging.getLogger(__name__)


class RunCommand(Protocol):
    """Runs a command in a container and returns its output; raises StatusError or UnreachableError."""

    async def __call__(self, namespace: str, pod: str, container: str, command: Sequence[str]) -> bytes:
        """Run the command."""


class _Guest(Struct):
    """A guest whose report is read: its pod, the state of the pod at the last read, and the last report."""

    pod: str
    uid: str
    state: tuple[object, ...]
    report: Report | None = None
    seconds: float = FIRST_SECONDS


class PodReports:
    """Reads reports with `run_command`, in the workers of `loop`."""

    def __init__(self, run_command: RunCommand) -> None:
        self._run_command = run_command
        self._guests: dict[Name, _Guest] = {}
        self._wake: Wake = lambda _namespace, _name: None
        self.loop = Loop("guest-report", self._read, workers=WORKERS)

    def observe(self, wake: Wake) -> None:
        """Call `wake` with namespace and name of an instance whose report has changed."""
        self._wake = wake

    def forget(self, namespace: str, name: str) -> None:
        """Drop the report about an instance's guest."""
        self._guests.pop(Name(namespace, name), None)

    def find(self, vmi: VirtualMachineInstance, pod: Pod) -> GuestStatus | None:
        """Return the guest status from the last report, or None; read the report again if the pod has changed."""
        name = Name(vmi.metadata.namespace or "", vmi.metadata.name or "")
        guest, state = self._guests.get(name), describe_state(pod)
        if guest is None or guest.uid != (pod.metadata.uid or ""):
            guest = self._guests[name] = _Guest(pod.metadata.name or "", pod.metadata.uid or "", ())
        if guest.state != state:
            guest.state, guest.seconds = state, FIRST_SECONDS
            self.loop.queue.add(name)
        if guest.report is None:
            return None
        address = (pod.status.pod_ip if pod.status else None) or LOOPBACK
        return read_report(guest.report, vmi, address=address)

    async def _read(self, name: Name) -> Result:
        """Read the report of a guest; return when to read the report again."""
        guest = self._guests.get(name)
        if guest is None:
            return DONE
        try:
            output = await self._run_command(name.namespace, guest.pod, CONTAINER, REPORT_COMMAND)
            report = msgspec.json.decode(output, type=Report)
        except (StatusError, UnreachableError, msgspec.DecodeError) as error:
            _log.info("reading the report of guest %s failed: %s; retrying in %g s", name, error, guest.seconds)
        else:
            if report != guest.report:
                guest.report = report
                self._wake(name.namespace, name.name)
        after, guest.seconds = guest.seconds, min(2 * guest.seconds, MAX_SECONDS)
        return Result(after=after)


def describe_state(pod: Pod) -> tuple[object, ...]:
    """Return the fields of a pod that change when its guest becomes ready or unready, or is paused or resumed."""
    statuses = (pod.status.container_statuses if pod.status else None) or ()
    ready = [(one.ready, one.started) for one in statuses if one.name == CONTAINER]
    return *ready, (pod.metadata.annotations or {}).get(PAUSED_ANNOTATION)
