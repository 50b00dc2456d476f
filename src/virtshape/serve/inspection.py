"""
A system seen from outside: whether it runs, where, since when, how it is, and how much it holds.

Reads files and asks for the server's health; changes nothing, and needs no permission but to read the directory.
"""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from virtshape.client.errors import ConfigError, UnreachableError
from virtshape.client.http import HttpTransport
from virtshape.client.transport import Call
from virtshape.serve.location import UnknownSystemError, read_access
from virtshape.store.errors import DatabaseError
from virtshape.store.lock import find_holder
from virtshape.store.store import FILE_NAME
from virtshape.store.summary import summarize

HEALTH_SECONDS = 3.0


class Condition(Struct, rename="camel", omit_defaults=True):
    """What there is to know of the system in a data directory."""

    data_directory: str
    running: bool = False
    healthy: bool = False
    problem: str = ""
    """Why it is not healthy, or cannot be read."""
    pid: int | None = None
    since: str | None = None
    url: str | None = None
    kubeconfig: str | None = None
    revision: int | None = None
    database_bytes: int | None = None
    objects: dict[str, int] = {}


def inspect(directory: Path) -> Condition:
    """Look at a data directory."""
    condition = Condition(data_directory=str(directory))
    condition.pid = find_holder(directory)
    condition.running = condition.pid is not None
    _read_kubeconfig(condition, directory)
    if condition.running:
        started = datetime.fromtimestamp((directory / "lock").stat().st_mtime, UTC)
        condition.since = started.strftime("%Y-%m-%dT%H:%M:%SZ")
        condition.problem = asyncio.run(find_illness(directory))
        condition.healthy = not condition.problem
    _read_database(condition, directory / FILE_NAME)
    return condition


async def find_illness(directory: Path) -> str:
    """Why the server of a directory is not ready to serve, or nothing."""
    try:
        transport = HttpTransport(read_access(directory), call_seconds=HEALTH_SECONDS, connect_seconds=HEALTH_SECONDS)
        try:
            answer = await transport.call(Call("GET", "/readyz?verbose"))
        finally:
            await transport.close()
    except UnknownSystemError:
        return "it has not written its kubeconfig yet"
    except (UnreachableError, ConfigError) as error:
        return str(error)
    failed = [line for line in answer.body.decode(errors="replace").splitlines() if line.startswith("[-]")]
    return "" if answer.status == 200 else ", ".join(failed) or f"/readyz answers {answer.status}"


def _read_kubeconfig(condition: Condition, directory: Path) -> None:
    try:
        condition.url = read_access(directory).server
    except UnknownSystemError:
        return
    except ConfigError as error:
        condition.problem = str(error)
    condition.kubeconfig = str(directory / "kubeconfig")


def _read_database(condition: Condition, path: Path) -> None:
    if not path.exists():
        return
    try:
        summary = summarize(path)
    except DatabaseError as error:
        condition.problem = condition.problem or str(error)
        condition.healthy = False
    else:
        condition.revision, condition.objects = summary.revision, summary.objects
        condition.database_bytes = summary.size
