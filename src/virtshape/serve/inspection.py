"""
A system seen from outside: whether it runs, where, since when, how it is, and how much it holds.

Reads files and asks for the server's health; changes nothing, and needs no permission but to read the directory.
"""

import contextlib
import http.client
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from virtshape.apiserver.kubeconfig import find_server
from virtshape.serve.door import connect
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
    _read_kubeconfig(condition, directory / "kubeconfig")
    if condition.running:
        started = datetime.fromtimestamp((directory / "lock").stat().st_mtime, UTC)
        condition.since = started.strftime("%Y-%m-%dT%H:%M:%SZ")
        condition.problem = find_illness(directory)
        condition.healthy = not condition.problem
    _read_database(condition, directory / FILE_NAME)
    return condition


def find_illness(directory: Path) -> str:
    """Why the server of a directory is not ready to serve, or nothing."""
    try:
        server = find_server((directory / "kubeconfig").read_text())
    except OSError:
        server = None
    if server is None:
        return "it has not written its kubeconfig yet"
    try:
        with contextlib.closing(connect(server, HEALTH_SECONDS)) as connection:
            connection.request("GET", "/readyz?verbose")
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return f"{server.url} does not answer: {error}"
    failed = [line for line in text.splitlines() if line.startswith("[-]")]
    return "" if answer.status == 200 else ", ".join(failed) or f"/readyz answers {answer.status}"


def _read_kubeconfig(condition: Condition, path: Path) -> None:
    if path.exists():
        condition.kubeconfig = str(path)
        server = find_server(path.read_text())
        condition.url = server.url if server is not None else None


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
