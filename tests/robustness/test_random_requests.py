"""Random requests to a running `virtshape up` cause no internal error, no hang and no growth of memory."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator

import pytest
import yaml
from tests.support.asyncclient import REPLY_SECONDS, AsyncConnection, NoReplyError, Reply
from tests.support.longruns import choose
from tests.support.memory import MIB, read_memory
from tests.support.randomrequests import RandomRequest, RequestGenerator, read_operations
from tests.support.upprocess import System, call_virtshape

REQUESTS = choose(short=5_000, long=1_000_000)
CLIENTS = 8
WARM_UP = REQUESTS // 5
MAX_GROWTH_MIB = choose(short=128, long=256)
MALFORMED_SECONDS = 1.0
"""How long a client waits for the response to a malformed request, whose end the server may not have seen."""


@pytest.fixture
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with System(tmp_path_factory.mktemp("random") / "data", "--launcher", "simulate") as running:
        yield running


def count_objects(system: System) -> int:
    """Return the number of stored objects."""
    shown = call_virtshape("status", "-o", "json", "--data-dir", system.directory)
    return sum(json.loads(shown.stdout)["objects"].values())


def check_reply(request: RandomRequest, reply: Reply) -> None:
    """Check that the response is not an internal error, and that an error is a complete Status."""
    if reply.status < 400 or request.method == "HEAD":
        return
    content_type = reply.headers.get("content-type", "")
    if content_type.startswith("text/plain"):
        assert (reply.status, reply.body) == (404, b"404 page not found\n")
        return
    tree = yaml.safe_load(reply.body) if content_type == "application/yaml" else json.loads(reply.body)
    assert (tree["apiVersion"], tree["kind"], tree["status"]) == ("v1", "Status", "Failure")
    assert tree["code"] == reply.status
    assert isinstance(tree["message"], str)
    assert tree.get("reason") != "InternalError"
    assert reply.status != 429 or int(reply.headers["retry-after"]) > 0


async def send(connection: AsyncConnection, request: RandomRequest) -> int:
    """Send a request, check the response and return its status; 0 if the server waits for the rest of the request."""
    try:
        reply = await connection.send(
            request.data,
            has_body=request.method != "HEAD" and not request.is_watch,
            seconds=MALFORMED_SECONDS if request.is_malformed else REPLY_SECONDS,
        )
    except NoReplyError:
        if not request.is_malformed:
            raise
        return 0
    if not request.is_watch:
        check_reply(request, reply)
    if request.is_malformed or request.is_watch:
        connection.close()
    return reply.status


async def send_many(connection: AsyncConnection, generator: RequestGenerator, count: int) -> Counter[int]:
    """Send random requests one after another; return the number of responses with each status."""
    found: Counter[int] = Counter()
    for _ in range(count):
        request = generator.generate()
        try:
            found[await send(connection, request)] += 1
        except (AssertionError, ValueError, KeyError, NoReplyError) as error:
            raise AssertionError(f"{error}: {request.data[:4000]!r}") from error
    return found


async def test_random_requests_cause_no_internal_error_and_no_growth(system: System) -> None:
    operations = read_operations(system)
    assert len({operation.path for operation in operations}) > 150
    connections = [AsyncConnection(system) for _ in range(CLIENTS)]
    generators = [
        RequestGenerator(operations, connection.token, f"client {number}")
        for number, connection in enumerate(connections)
    ]

    async def send_all(count: int) -> Counter[int]:
        parts = await asyncio.gather(
            *(send_many(*pair, count // CLIENTS) for pair in zip(connections, generators, strict=True))
        )
        return sum(parts, Counter())

    await connections[0].request(
        "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fuzz"}}
    )
    codes = await send_all(WARM_UP)
    before, objects_before = read_memory(system.process.pid) / MIB, count_objects(system)
    codes += await send_all(REQUESTS - WARM_UP)
    after, objects_after = read_memory(system.process.pid) / MIB, count_objects(system)
    health = await connections[0].request("GET", "/readyz?verbose")
    await asyncio.gather(*(connection.wait_closed() for connection in connections))
    print(dict(codes))  # noqa: T201 - for -s
    print(f"{WARM_UP} requests: {before:.0f} MiB, {objects_before} objects")  # noqa: T201 - for -s
    print(f"{REQUESTS} requests: {after:.0f} MiB, {objects_after} objects")  # noqa: T201 - for -s
    assert {200, 201, 400, 404, 405, 409, 415, 422} <= set(codes)
    assert after - before < MAX_GROWTH_MIB
    assert health.status == 200, health.body
    assert "Traceback" not in system.log.read_text()
