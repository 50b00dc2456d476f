"""
Run a guest in a pod: start the guest, watch it until it stops, and write the termination message.

The guest has a separate launcher process, which is replaced if it is lost while the guest runs.
"""

import asyncio
import contextlib
import logging
import os
import signal
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from virtshape.api.codec import decode
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.launcherpod import (
    CLAIM_SIZES_VARIABLE,
    INSTANCE_VARIABLE,
    REPORT,
    ROOT,
    RUNNING,
    STARTED,
    STATE,
    TERMINATION_LOG,
    TerminationMessage,
    format_termination_message,
    parse_claim_sizes,
)
from virtshape.api.wellknown import DEFAULT_GRACE_SECONDS
from virtshape.launcher.host import Host
from virtshape.launcher.images.atomic import write_atomically
from virtshape.launcher.node.account import choose_account
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.guests import Guests
from virtshape.launcher.node.probing import ProbeError, probe_host
from virtshape.launcher.pod.mounts import find_mounts, list_host_disk_roots, read_devices
from virtshape.launcher.report import Report
from virtshape.launcher.volumes.task import VolumeError
from virtshape.supervise.supervisor import Supervisor, log_failure

POD_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - the pod's network, protected by network policies
"""Address of the guest's forwarded ports, reachable by Services and other pods."""
SUCCEEDED: Final = 0
FAILED: Final = 1
_log = logging.getLogger(__name__)


async def run() -> int:
    """Run the guest that the environment describes and return the exit status."""
    vmi = decode(os.environ[INSTANCE_VARIABLE].encode(), VirtualMachineInstance)
    directories = GuestDirectories(Path(ROOT), choose_account())
    try:
        host = await probe_host(directories)
    except ProbeError as error:
        return finish(Report(state="failed", reason="NotStarted", message=str(error)))
    host = replace(host, devices=read_devices(vmi, os.environ), port_address=POD_ADDRESS, cluster=True)
    return finish(await follow(Guests(directories, host, Supervisor()), vmi, host))


async def follow(guests: Guests, vmi: VirtualMachineInstance, host: Host) -> Report:
    """Start the guest and return its final report; SIGTERM and SIGINT shut the guest down."""
    uid = vmi.metadata.uid or "guest"
    ended: asyncio.Future[Report] = asyncio.get_running_loop().create_future()

    def on_report(_: str, report: Report) -> None:
        write_report(report)
        mark(report)
        if report.final and not ended.done():
            ended.set_result(report)

    guests.observe(on_report)
    started = asyncio.Event()
    _stop_on_signal(guests, uid, vmi, started)
    claim_sizes = parse_claim_sizes(os.environ.get(CLAIM_SIZES_VARIABLE, ""))
    try:
        await guests.start(
            uid,
            vmi,
            await asyncio.to_thread(find_mounts, vmi, claim_sizes),
            assigned_cpus=choose_cpus(vmi, host),
            state_directory=STATE if Path(STATE).is_dir() else None,
            host_disk_roots=list_host_disk_roots(vmi),
        )
        started.set()
        return await ended
    except VolumeError as error:
        return Report(state="failed", reason="VolumesNotReady", message=str(error), refusals=error.problems)
    finally:
        await guests.close()


def choose_cpus(vmi: VirtualMachineInstance, host: Host) -> tuple[int, ...]:
    """Return the guest's dedicated CPUs: all CPUs of the pod if dedicatedCpuPlacement is set."""
    cpu = vmi.spec.domain.cpu
    return host.cpus if cpu is not None and cpu.dedicated_cpu_placement else ()


def write_report(report: Report, path: Path = Path(REPORT)) -> None:
    """Write the report for the controllers, which read the file with exec."""
    write_atomically(path, msgspec.json.encode(report), 0o644, durable=False)


def mark(report: Report, started: Path = Path(STARTED), ready: Path = Path(RUNNING)) -> None:
    """Create or remove the files that the pod's startup and readiness probes check."""
    runs = report.state in ("running", "paused")
    for path, is_true in ((started, runs), (ready, runs and not report.unready)):
        if is_true:
            path.touch()
        else:
            path.unlink(missing_ok=True)


def finish(report: Report, path: Path = Path(TERMINATION_LOG)) -> int:
    """Write the termination message and return the exit status."""
    _log.info("guest %s: %s %s", report.state, report.reason, report.message)
    with contextlib.suppress(OSError):  # the path exists only in a pod
        path.write_bytes(format_termination_message(TerminationMessage(report.reason, report.message)))
    return SUCCEEDED if report.state == "succeeded" else FAILED


def _stop_on_signal(guests: Guests, uid: str, vmi: VirtualMachineInstance, started: asyncio.Event) -> None:
    """Shut the guest down on a signal; a signal that arrives before the guest starts takes effect after the start."""
    grace = vmi.spec.termination_grace_period_seconds
    seconds = float(DEFAULT_GRACE_SECONDS if grace is None else grace)
    stopping: set[asyncio.Task[None]] = set()

    async def stop() -> None:
        await started.wait()
        await guests.stop(uid, seconds)

    def begin() -> None:
        task = asyncio.get_running_loop().create_task(stop(), name="shutting down the guest")
        stopping.add(task)
        task.add_done_callback(log_failure)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, begin)
