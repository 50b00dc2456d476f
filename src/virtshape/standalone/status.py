"""
Status of the server that uses a data directory: whether it runs, its address, health checks and number of objects.

The status is read from files and from the server's health and metrics endpoints.
"""

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from virtshape.client.errors import ConfigError, UnreachableError
from virtshape.client.http import HttpTransport
from virtshape.client.transport import Call
from virtshape.standalone.guests.stopguests import list_running_guests
from virtshape.standalone.serveraccess import UnknownSystemError, read_access
from virtshape.store.errors import DatabaseError
from virtshape.store.lock import find_holder
from virtshape.store.store import FILE_NAME
from virtshape.store.summary import summarize

HEALTH_SECONDS: Final = 10.0
_CHECK: Final = re.compile(r"^\[([+-])\](\S+) (?:ok|failed: (.*?)(?: \(not required\))?)$", re.MULTILINE)
_RESTARTS_NAME: Final = "virtshape_task_restarts_total"
_RESTARTS: Final = re.compile(rf'^{_RESTARTS_NAME}{{task="([^"]+)"}} (\d+)(?:\.0)?$', re.MULTILINE)


class CheckResult(Struct, rename="camel"):
    """A health check of the server; `restarts` counts restarts of the background task with the same name."""

    name: str
    passed: bool
    restarts: int = 0
    failure: str = ""


class SystemStatus(Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Status of the server that uses a data directory. Fields without a default are always in the output."""

    data_directory: str
    running: bool
    healthy: bool
    problem: str = ""
    """Why the server is not healthy, or why its status cannot be read."""
    pid: int | None = None
    since: str | None = None
    url: str | None = None
    kubeconfig: str | None = None
    revision: int | None = None
    database_bytes: int | None = None
    guests: list[str] = []
    """Namespace and name of each running guest, whether or not a server runs."""
    checks: list[CheckResult] = []
    objects: dict[str, int] = {}


def read_status(directory: Path) -> SystemStatus:
    """Return the status of a data directory."""
    holder = find_holder(directory)
    status = SystemStatus(data_directory=str(directory), running=holder is not None, healthy=False, pid=holder)
    _read_kubeconfig(status, directory)
    if status.running:
        started = datetime.fromtimestamp((directory / "lock").stat().st_mtime, UTC)
        status.since = started.strftime("%Y-%m-%dT%H:%M:%SZ")
        status.problem, status.checks = asyncio.run(find_problem(directory))
        status.healthy = not status.problem
    status.guests = [str(guest) for guest in list_running_guests(directory)]
    _read_database(status, directory / FILE_NAME)
    return status


async def find_problem(directory: Path) -> tuple[str, list[CheckResult]]:
    """Return the server's problems as text, which is empty if the server is healthy, and the results of all checks."""
    try:
        transport = HttpTransport(read_access(directory), call_seconds=HEALTH_SECONDS, connect_seconds=HEALTH_SECONDS)
        try:
            health = await transport.call(Call("GET", "/readyz?verbose"))
            metrics = await transport.call(Call("GET", f"/metrics?name[]={_RESTARTS_NAME}"))
        finally:
            await transport.close()
    except UnknownSystemError:
        return "the server has not written its kubeconfig yet", []
    except (UnreachableError, ConfigError) as error:
        return str(error), []
    checks = read_checks(health.body.decode(errors="replace"), metrics.body.decode(errors="replace"))
    failed = [f"{check.name} failed: {check.failure}" for check in checks if not check.passed]
    if health.status != 200 and not failed:
        failed = [f"/readyz returns status {health.status}"]
    return "; ".join(failed), checks


def read_checks(health: str, metrics: str) -> list[CheckResult]:
    """Return the checks in the verbose response of a health endpoint, with their restart counts from the metrics."""
    restarts = {name: int(count) for name, count in _RESTARTS.findall(metrics)}
    return [
        CheckResult(name, sign == "+", restarts.get(name, 0), failure) for sign, name, failure in _CHECK.findall(health)
    ]


def _read_kubeconfig(status: SystemStatus, directory: Path) -> None:
    try:
        status.url = read_access(directory).server
    except UnknownSystemError:
        return
    except ConfigError as error:
        status.problem = str(error)
    status.kubeconfig = str(directory / "kubeconfig")


def _read_database(status: SystemStatus, path: Path) -> None:
    if not path.exists():
        return
    try:
        summary = summarize(path)
    except DatabaseError as error:
        status.problem = status.problem or str(error)
        status.healthy = False
    else:
        status.revision, status.objects = summary.revision, summary.objects
        status.database_bytes = summary.size
