"""Reports of launchers in pods: when the controller reads them, and what it does with failures."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from tests.support.instances import build_vmi
from tests.unit.controllers.pods.build import RUNNING, build_pod

from virtshape.api.core.podspec import Pod
from virtshape.api.launcherpod import REPORT_COMMAND
from virtshape.api.status import StatusError
from virtshape.cluster.guestreports import FIRST_SECONDS, MAX_SECONDS, PodReports
from virtshape.controllers.runtime.loop import DONE, Name
from virtshape.launcher.report import Note, OpenPort, Report

NAME = Name("default", "vm1")
VMI = build_vmi("Running")
PORT = OpenPort(interface="default", protocol="tcp", port=80, here=80)
REPORT = Report(state="running", machine="pc-q35-7.2", notes=(Note("spec.domain.cpu", "emulated"),), ports=(PORT,))


class FakePods:
    """Fake pods that return the same output or raise the same error for each command."""

    def __init__(self, output: bytes | Exception) -> None:
        self.output = output
        self.commands: list[tuple[str, ...]] = []
        self.woken: list[tuple[str, str]] = []

    async def __call__(self, namespace: str, pod: str, container: str, command: Sequence[str]) -> bytes:
        self.commands.append((namespace, pod, container, *command))
        if isinstance(self.output, Exception):
            raise self.output
        return self.output

    def wake(self, namespace: str, name: str) -> None:
        self.woken.append((namespace, name))


def open_reports(pods: FakePods) -> PodReports:
    reports = PodReports(pods)
    reports.observe(pods.wake)
    return reports


def build_running(*, ready: bool = True) -> Pod:
    return build_pod("Running", node="n1", state=RUNNING, ready=ready, podIP="10.1.2.3")


async def read_next(reports: PodReports) -> float | None:
    """Read the report that is due, as a worker of the loop does; return the delay until the next read."""
    name = await asyncio.wait_for(reports.loop.queue.get(), 240)
    reports.loop.queue.done(name)
    return (await reports._read(name)).after  # noqa: SLF001 - the loop calls it


async def test_status_of_a_started_guest_is_read_from_its_report() -> None:
    pods = FakePods(msgspec.json.encode(REPORT))
    reports = open_reports(pods)
    assert reports.find(VMI, build_running()) is None
    assert await read_next(reports) == FIRST_SECONDS
    assert pods.commands == [("default", "virt-launcher-vm1-1", "compute", *REPORT_COMMAND)]
    assert pods.woken == [("default", "vm1")]
    guest = reports.find(VMI, build_running())
    assert guest is not None
    assert guest.machine == "pc-q35-7.2"
    assert guest.substitutions == ("spec.domain.cpu: emulated",)
    assert guest.ports == ("tcp 80 of default is 10.1.2.3:80",)


async def test_unchanged_report_is_read_less_and_less_often() -> None:
    pods = FakePods(msgspec.json.encode(REPORT))
    reports = open_reports(pods)
    reports.find(VMI, build_running())
    await read_next(reports)
    intervals = [(await reports._read(NAME)).after for _ in range(8)]  # noqa: SLF001 - the loop calls it
    assert intervals == [10, 20, 40, 80, 160, 320, MAX_SECONDS, MAX_SECONDS]
    assert len(pods.woken) == 1


async def test_report_is_read_again_when_the_guest_becomes_unready() -> None:
    reports = open_reports(FakePods(msgspec.json.encode(REPORT)))
    reports.find(VMI, build_running())
    await read_next(reports)
    reports.find(VMI, build_running())
    assert len(reports.loop.queue) == 0
    reports.find(VMI, build_running(ready=False))
    assert await read_next(reports) == FIRST_SECONDS


FAILURES = {"refused command": StatusError(403, "Forbidden", "no"), "invalid report": b"cat: no such file"}


@pytest.mark.parametrize("output", FAILURES.values(), ids=FAILURES.keys())
async def test_failed_read_of_a_guest_report_is_retried(output: bytes | Exception) -> None:
    pods = FakePods(output)
    reports = open_reports(pods)
    reports.find(VMI, build_running())
    assert await read_next(reports) == FIRST_SECONDS
    assert pods.woken == []
    assert reports.find(VMI, build_running()) is None


async def test_report_of_a_deleted_guest_is_not_read() -> None:
    pods = FakePods(msgspec.json.encode(REPORT))
    reports = open_reports(pods)
    reports.find(VMI, build_running())
    reports.forget(*NAME)
    assert await reports._read(NAME) == DONE  # noqa: SLF001 - the loop calls it
    assert pods.commands == []
